import type { Kysely } from 'kysely'
import { deletingOldest } from './engine/deletions.ts'
import { writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The identity of a request: the party it acts on, the SHA-256 of its Idempotency-Key, and the SHA-256 of its method,
 * path and body.
 */
export interface RequestHashes {
  partyId: string
  key: string
  fingerprint: string
}

/** Returns whether a record belongs to the request with that fingerprint. */
export function isForRequest(record: IdempotencyRecordRow, fingerprint: string): boolean {
  return record.fingerprint === shortHash(fingerprint)
}

type Answered = Pick<IdempotencyRecordRow, 'state' | 'status' | 'answer' | 'finishedAtMs'>

/** Returns the record of a key. */
export function idempotencyRecord(of: RequestHashes & Answered): IdempotencyRecordRow {
  return { ...of, key: shortHash(of.key), fingerprint: shortHash(of.fingerprint) }
}

/** Writes the record of a key, replacing an earlier one. */
export const putIdempotencyRecord: (tx: Transaction, row: IdempotencyRecordRow) => Promise<void> = writing(
  (db, row: IdempotencyRecordRow) => insertRecord(db, row),
)

/** Creates the statement that writes the record of a key. */
export function insertRecord(db: Kysely<Tables>, row: IdempotencyRecordRow) {
  const { partyId: _partyId, key: _key, ...rest } = row
  return db
    .insertInto('idempotencyRecords')
    .values(row)
    .onConflict((conflict) => conflict.columns(['partyId', 'key']).doUpdateSet(rest))
}

/** Returns the first 128 bits of a SHA-256 in base64url. This is long enough that one party's keys do not collide. */
export function shortHash(hash: string): string {
  return Buffer.from(hash.slice(0, 32), 'hex').toString('base64url')
}

/** Deletes the records that finished longest ago and returns how many it deleted. */
export const deleteIdempotencyRecords = deletingOldest('idempotencyRecords', ['partyId', 'key'], 'finishedAtMs')

/**
 * Selects the service time at which the last operation with a stored key finished. The query that reads the clock
 * includes this selection.
 */
export function lastFinished(db: Kysely<Tables>) {
  return db.selectFrom('idempotencyRecords').select((row) => row.fn.max('finishedAtMs').as('max'))
}
