import { type RawBuilder, sql } from 'kysely'
import type { TimedKind } from '../rules/failed-effects.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { FailedEffectRow } from './schema/failed-effects.ts'

type Key = Pick<FailedEffectRow, 'partyId' | 'kind' | 'recordId'>

/** A column that contains the time at which a record's next effect is due, and the table of the record. */
export type DueColumn =
  | { table: 'shopOrders' | 'subscriptions'; column: 'nextEventAtMs' }
  | { table: 'payments'; column: 'bankDueAtMs' }
  | { table: 'cardTransactions'; column: 'holdExpiresAtMs' }
  | { table: 'customerInvitations'; column: 'pendingUntilMs' }
  | { table: 'paymentRequests'; column: 'openUntilMs' }

export async function findFailedEffect(tx: Transaction, key: Key): Promise<FailedEffectRow | undefined> {
  return (await byKey(tx, key)).rows[0]
}

const byKey = prepared((db, { partyId, kind, recordId }: Key) =>
  db
    .selectFrom('failedEffects')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('kind', '=', kind)
    .where('recordId', '=', recordId),
)

/** Returns whether at least one of a party's failed effects is due for a retry. */
export async function isRetryDue(tx: Transaction, by: { partyId: string; nowMs: number }): Promise<boolean> {
  return (await dueRetry(tx, by)).rows.length > 0
}

const dueRetry = prepared((db, { partyId, nowMs }: { partyId: string; nowMs: number }) =>
  db
    .selectFrom('failedEffects')
    .select('recordId')
    .where('partyId', '=', partyId)
    .where('retryAtMs', '<=', nowMs)
    .limit(1),
)

/** Returns at most `limit` of a party's failed effects, the one with the earliest retry first. */
export async function listFailedEffects(tx: Transaction, partyId: string, limit: number): Promise<FailedEffectRow[]> {
  return (await soonest(tx, { partyId, limit })).rows
}

const soonest = prepared((db, { partyId, limit }: { partyId: string; limit: number }) =>
  db.selectFrom('failedEffects').selectAll().where('partyId', '=', partyId).orderBy('retryAtMs').limit(limit),
)

/** Counts the failed effects of all parties. */
export async function countFailedEffects(tx: Transaction): Promise<number> {
  return Number((await count(tx, {})).rows[0]?.count ?? 0)
}

const count = prepared((db, _none: object) =>
  db.selectFrom('failedEffects').select((row) => row.fn.countAll().as('count')),
)

export const saveFailedEffect = preparedWrite((db, row: FailedEffectRow) => {
  const { attempts, error, dueAtMs, retryAtMs } = row
  return db
    .insertInto('failedEffects')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['partyId', 'kind', 'recordId']).doUpdateSet({ attempts, error, dueAtMs, retryAtMs }),
    )
})

export const deleteFailedEffect = preparedWrite((db, { partyId, kind, recordId }: Key) =>
  db
    .deleteFrom('failedEffects')
    .where('partyId', '=', partyId)
    .where('kind', '=', kind)
    .where('recordId', '=', recordId),
)

/** Changes the due time of a record's next effect to `toMs`. Does nothing if the current due time is not `fromMs`. */
export async function changeDueTime(
  tx: Transaction,
  { table, column }: DueColumn,
  { partyId, recordId, fromMs, toMs }: { partyId: string; recordId: string; fromMs: number; toMs: number },
): Promise<void> {
  const at = sql.ref(column)
  await sql`update ${sql.table(table)} set ${at} = ${toMs}
    where "partyId" = ${partyId} and "id" = ${recordId} and ${at} = ${fromMs}`.execute(tx.db)
}

/**
 * Deletes at most `limit` failed effects that no longer need their retry. The time of the retry has passed, but the
 * record's due time is no longer the time of the retry. Returns how many failed effects it deleted.
 */
export async function deleteObsoleteFailures(
  tx: Transaction,
  dueColumns: Readonly<Record<TimedKind, DueColumn>>,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<number> {
  const retryIsPending: RawBuilder<unknown>[] = Object.entries(dueColumns).map(
    ([kind, { table, column }]) => sql`(f."kind" = ${sql.lit(kind)} and exists (select 1 from ${sql.table(table)} r
      where r."partyId" = f."partyId" and r."id" = f."recordId" and r.${sql.ref(column)} = f."retryAtMs"))`,
  )
  const { rows } = await sql<Key>`select f."partyId", f."kind", f."recordId" from "failedEffects" f
    where f."retryAtMs" <= ${nowMs} and not (${sql.join(retryIsPending, sql` or `)}) limit ${limit}`.execute(tx.db)
  for (const key of rows) await deleteFailedEffect(tx, key)
  return rows.length
}
