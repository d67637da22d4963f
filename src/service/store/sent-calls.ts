import { sql } from 'kysely'
import { realNow } from './clock.ts'
import { deletingOldest } from './engine/deletions.ts'
import { prepared } from './engine/prepared.ts'
import type { Store } from './engine/store.ts'
import type { SentCallRow } from './schema/sent-calls.ts'

/** The longest window that PAYMENTS_REPEAT_WINDOW allows. */
export const sentCallKeptMs = 24 * 60 * 60 * 1000

/** Returns functions for the calls sent with one party's credentials. Each function runs in a separate transaction. */
export function createSentCalls(store: Store, partyId: string) {
  return {
    /** Finds the call with that id, if it was sent within the window. */
    find: (id: string, windowMs: number) =>
      store.transaction(async (tx) => {
        const nowMs = await realNow(tx)
        const [row] = (await callOf(tx, { partyId, id })).rows
        return row === undefined || row.sentAtMs <= nowMs - windowMs ? undefined : keptCall(row, nowMs)
      }),
    /** Stores a call unless the same call was sent within the window. Returns the stored call. */
    claim: (id: string, sealed: string, windowMs: number) =>
      store.transaction(
        async (tx) => {
          const nowMs = await realNow(tx)
          const [row] = (await keepOver(tx, { partyId, id, sealed, sentAtMs: nowMs, overMs: nowMs - windowMs })).rows
          if (row === undefined) throw new Error('Bug: a call that was just stored is missing.')
          return keptCall(row, nowMs)
        },
        { kind: 'sent call' },
      ),
    /** Deletes a call unless another call with that id has been sent since then. */
    forget: (id: string, sealed: string) =>
      store.transaction(async (tx) => void (await forgetCall(tx, { partyId, id, sealed })), { kind: 'sent call' }),
  }
}

function keptCall({ sealed, sentAtMs }: Pick<SentCallRow, 'sealed' | 'sentAtMs'>, nowMs: number) {
  return { sealed, sentAtMs, agoMs: Math.max(0, nowMs - sentAtMs) }
}

const callOf = prepared((db, of: Pick<SentCallRow, 'partyId' | 'id'>) =>
  db.selectFrom('sentCalls').selectAll().where('partyId', '=', of.partyId).where('id', '=', of.id),
)

/** Updates the row even if no value changes, because a skipped update would not return the stored row. */
const keepOver = prepared((db, { overMs, ...row }: SentCallRow & { overMs: number }) => {
  const [sealed, sentAtMs] = [sql.ref<string>('sentCalls.sealed'), sql.ref<number>('sentCalls.sentAtMs')]
  const isOver = sql`${sentAtMs} <= ${overMs}`
  return db
    .insertInto('sentCalls')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['partyId', 'id']).doUpdateSet((of) => ({
        sealed: sql<string>`case when ${isOver} then ${of.ref('excluded.sealed')} else ${sealed} end`,
        sentAtMs: sql<number>`case when ${isOver} then ${of.ref('excluded.sentAtMs')} else ${sentAtMs} end`,
      })),
    )
    .returning(['sealed', 'sentAtMs'])
})

const forgetCall = prepared((db, { partyId, id, sealed }: Omit<SentCallRow, 'sentAtMs'>) =>
  db.deleteFrom('sentCalls').where('partyId', '=', partyId).where('id', '=', id).where('sealed', '=', sealed),
)

/** Deletes calls that are too old to be repeated and returns how many it deleted. */
export const deleteSentCalls = deletingOldest('sentCalls', ['partyId', 'id'], 'sentAtMs')
