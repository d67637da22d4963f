import type { Kysely } from 'kysely'
import { deletingOldest } from './engine/deletions.ts'
import { preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The identity of a request: the party that the request acts on, the SHA-256 of its Idempotency-Key, and the SHA-256 of
 * its method, path and body.
 */
export interface RequestHashes {
  partyId: string
  key: string
  fingerprint: string
}

/** Returns whether the record belongs to the request with the given fingerprint. */
export function isForRequest(record: IdempotencyRecordRow, fingerprint: string): boolean {
  return record.fingerprint === shortHash(fingerprint)
}

type Answered = Pick<IdempotencyRecordRow, 'state' | 'status' | 'answer' | 'finishedAtMs'>

/** Builds the row to store for an idempotency key. The hashes are shortened. */
export function idempotencyRecord(values: RequestHashes & Answered): IdempotencyRecordRow {
  return { ...values, key: shortHash(values.key), fingerprint: shortHash(values.fingerprint) }
}

/** Stores the record of an idempotency key. Replaces an earlier record of the same key. */
export const putIdempotencyRecord: (tx: Transaction, row: IdempotencyRecordRow) => Promise<void> = preparedWrite(
  (db, row: IdempotencyRecordRow) => insertRecord(db, row),
)

/** Creates the statement that inserts the record of an idempotency key or replaces an earlier record. */
export function insertRecord(db: Kysely<Tables>, row: IdempotencyRecordRow) {
  const { partyId: _partyId, key: _key, ...rest } = row
  return db
    .insertInto('idempotencyRecords')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'key']).doUpdateSet(rest))
}

/** Shortens a hexadecimal SHA-256 to 128 bits, as base64url. A collision among one party's keys is very unlikely. */
export function shortHash(hash: string): string {
  return Buffer.from(hash.slice(0, 32), 'hex').toString('base64url')
}

/** Deletes the records of the requests that finished longest ago. Returns how many records it deleted. */
export const deleteIdempotencyRecords = deletingOldest('idempotencyRecords', ['partyId', 'key'], 'finishedAtMs')

/**
 * Creates a subquery for the time at which the last request finished, by the sandbox clock. Only requests with a stored
 * record count. The query that reads the clock includes this subquery.
 */
export function lastFinished(db: Kysely<Tables>) {
  return db.selectFrom('idempotencyRecords').select((row) => row.fn.max('finishedAtMs').as('max'))
}
