import type { Kysely } from 'kysely'
import { deletingOldest } from './engine/deleting.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import type { Tables } from './schema/tables.ts'

/** What a request is known by: the party it acts on, and the SHA-256 of its Idempotency-Key and of itself. */
export interface RequestHashes {
  partyId: string
  key: string
  fingerprint: string
}

/** The record of a request's key, whatever request it is of. */
export async function findIdempotencyRecord(
  tx: Transaction,
  { partyId, key }: Omit<RequestHashes, 'fingerprint'>,
): Promise<IdempotencyRecordRow | undefined> {
  return (await recordOf(tx, { partyId, key: short(key) })).rows[0]
}

/** Whether a record is of the request with that fingerprint. */
export function isOf(record: IdempotencyRecordRow, fingerprint: string): boolean {
  return record.fingerprint === short(fingerprint)
}

const recordOf = prepared((db, by: { partyId: string; key: string }) =>
  db.selectFrom('idempotencyRecords').selectAll().where('partyId', '=', by.partyId).where('key', '=', by.key),
)

type Answered = Pick<IdempotencyRecordRow, 'state' | 'status' | 'answer' | 'finishedAtMs'>

/** Writes the record of a key, over the one it may have had. */
export async function putIdempotencyRecord(tx: Transaction, of: RequestHashes & Answered): Promise<void> {
  await put(tx, { ...of, key: short(of.key), fingerprint: short(of.fingerprint) })
}

const put = writing((db, row: IdempotencyRecordRow) => {
  const { partyId: _partyId, key: _key, ...rest } = row
  return db
    .insertInto('idempotencyRecords')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'key']).doUpdateSet(rest))
})

/** The first 128 bits of a SHA-256, in a third of its hexadecimal digits: of the keys of one party no two begin alike. */
function short(hash: string): string {
  return Buffer.from(hash.slice(0, 32), 'hex').toString('base64url')
}

/** Deletes the records of what finished the longest ago; gives their number. */
export const deleteIdempotencyRecords = deletingOldest('idempotencyRecords', ['partyId', 'key'], 'finishedAtMs')

/** When the last operation finished whose key is remembered, by the service's clock, as a part of the query that reads the clock. */
export function lastFinished(db: Kysely<Tables>) {
  return db.selectFrom('idempotencyRecords').select((row) => row.fn.max('finishedAtMs').as('max'))
}
