import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'
import type { IdempotencyRecordRow } from './tables.ts'

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

/** Forgets at most `limit` keys whose operation finished at or before `finishedBeforeMs`. */
export async function purgeIdempotencyRecords(
  tx: Transaction,
  finishedBeforeMs: number,
  limit: number,
): Promise<number> {
  const rows = await tx.db
    .selectFrom('idempotencyRecords')
    .select(['partyId', 'key'])
    .where('finishedAtMs', '<=', finishedBeforeMs)
    .orderBy('finishedAtMs')
    .limit(limit)
    .execute()
  for (const { partyId, key } of rows) {
    await tx.db.deleteFrom('idempotencyRecords').where('partyId', '=', partyId).where('key', '=', key).execute()
  }
  return rows.length
}
