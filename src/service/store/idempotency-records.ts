import type { Transaction } from './store.ts'
import type { IdempotencyRecordRow } from './tables.ts'

export async function findIdempotencyRecord(
  tx: Transaction,
  partyId: string,
  key: string,
): Promise<IdempotencyRecordRow | undefined> {
  return tx.db
    .selectFrom('idempotencyRecords')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('key', '=', key)
    .executeTakeFirst()
}

/** Writes the record of a key, over the one it may have had. */
export async function putIdempotencyRecord(tx: Transaction, row: IdempotencyRecordRow): Promise<void> {
  const { partyId: _partyId, key: _key, ...rest } = row
  await tx.db
    .insertInto('idempotencyRecords')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'key']).doUpdateSet(rest))
    .execute()
}

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
