import type { Kysely } from 'kysely'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import type { Tables } from './schema/tables.ts'

export async function findIdempotencyRecord(
  tx: Transaction,
  partyId: string,
  key: string,
): Promise<IdempotencyRecordRow | undefined> {
  return (await recordOf(tx, { partyId, key })).rows[0]
}

const recordOf = prepared((db, by: { partyId: string; key: string }) =>
  db.selectFrom('idempotencyRecords').selectAll().where('partyId', '=', by.partyId).where('key', '=', by.key),
)

/** Writes the record of a key, over the one it may have had. */
export async function putIdempotencyRecord(tx: Transaction, row: IdempotencyRecordRow): Promise<void> {
  await put(tx, row)
}

const put = prepared((db, row: IdempotencyRecordRow) => {
  const { partyId: _partyId, key: _key, ...rest } = row
  return db
    .insertInto('idempotencyRecords')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'key']).doUpdateSet(rest))
})

/** Deletes at most `limit` records of what finished at or before `finishedBeforeMs`, the oldest first; gives their number. */
export async function deleteIdempotencyRecords(
  tx: Transaction,
  finishedBeforeMs: number,
  limit: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await deleteOldest(tx, { finishedBeforeMs, limit })
  return Number(numAffectedRows)
}

const deleteOldest = prepared((db, { finishedBeforeMs, limit }: { finishedBeforeMs: number; limit: number }) =>
  db
    .deleteFrom('idempotencyRecords')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('partyId', 'key'),
        'in',
        selectFrom('idempotencyRecords')
          .select(['partyId', 'key'])
          .where('finishedAtMs', '<=', finishedBeforeMs)
          .orderBy('finishedAtMs')
          .limit(limit)
          .$asTuple('partyId', 'key'),
      ),
    ),
)

/** When the last operation finished whose key is remembered, by the service's clock, as a part of the query that reads the clock. */
export function lastFinished(db: Kysely<Tables>) {
  return db.selectFrom('idempotencyRecords').select((row) => row.fn.max('finishedAtMs').as('max'))
}
