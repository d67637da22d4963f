import { sql } from 'kysely'
import { realNow } from './clock.ts'
import { deletingOldest } from './engine/deletions.ts'
import { prepared } from './engine/prepared.ts'
import type { Store } from './engine/store.ts'
import type { SentCallRow } from './schema/sent-calls.ts'

/** The retention period of a sent call, which is also the maximum value of PAYMENTS_REPEAT_WINDOW. */
export const sentCallKeptMs = 24 * 60 * 60 * 1000

/**
 * Returns functions that find, store and delete records of the calls sent with a party's credentials. Each function
 * runs in its own transaction.
 */
export function createSentCalls(store: Store, partyId: string) {
  return {
    /** Finds the call with the given id if it was sent within the last `windowMs` milliseconds. */
    find: (id: string, windowMs: number) =>
      store.transaction(async (tx) => {
        const nowMs = await realNow(tx)
        const [row] = (await callOf(tx, { partyId, id })).rows
        return row === undefined || row.sentAtMs <= nowMs - windowMs ? undefined : withAge(row, nowMs)
      }),
    /**
     * Stores a call, unless a call with the same id was sent within the last `windowMs` milliseconds. Returns the
     * stored call: the new one or the earlier one.
     */
    claim: (id: string, sealed: string, windowMs: number) =>
      store.transaction(
        async (tx) => {
          const nowMs = await realNow(tx)
          const [row] = (await claimCall(tx, { partyId, id, sealed, sentAtMs: nowMs, sinceMs: nowMs - windowMs })).rows
          if (row === undefined) throw new Error('Bug: a call that was just stored is missing.')
          return withAge(row, nowMs)
        },
        { kind: 'sent call' },
      ),
    /** Deletes a call, unless a later call with the same id has replaced it. */
    forget: (id: string, sealed: string) =>
      store.transaction(async (tx) => void (await forgetCall(tx, { partyId, id, sealed })), { kind: 'sent call' }),
  }
}

function withAge({ sealed, sentAtMs }: Pick<SentCallRow, 'sealed' | 'sentAtMs'>, nowMs: number) {
  return { sealed, sentAtMs, agoMs: Math.max(0, nowMs - sentAtMs) }
}

const callOf = prepared((db, by: Pick<SentCallRow, 'partyId' | 'id'>) =>
  db.selectFrom('sentCalls').selectAll().where('partyId', '=', by.partyId).where('id', '=', by.id),
)

/**
 * Inserts a call, or replaces a stored call that is outdated. If the stored call is not outdated, the statement writes
 * that call's values again, because `returning` covers only rows that the statement writes.
 */
const claimCall = prepared((db, { sinceMs, ...row }: SentCallRow & { sinceMs: number }) => {
  const [sealed, sentAtMs] = [sql.ref<string>('sentCalls.sealed'), sql.ref<number>('sentCalls.sentAtMs')]
  const isOutdated = sql`${sentAtMs} <= ${sinceMs}`
  return db
    .insertInto('sentCalls')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['partyId', 'id']).doUpdateSet((row) => ({
        sealed: sql<string>`case when ${isOutdated} then ${row.ref('excluded.sealed')} else ${sealed} end`,
        sentAtMs: sql<number>`case when ${isOutdated} then ${row.ref('excluded.sentAtMs')} else ${sentAtMs} end`,
      })),
    )
    .returning(['sealed', 'sentAtMs'])
})

const forgetCall = prepared((db, { partyId, id, sealed }: Omit<SentCallRow, 'sentAtMs'>) =>
  db.deleteFrom('sentCalls').where('partyId', '=', partyId).where('id', '=', id).where('sealed', '=', sealed),
)

export const deleteSentCalls = deletingOldest('sentCalls', ['partyId', 'id'], 'sentAtMs')
