import { type Kysely, sql } from 'kysely'
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
  const by = { partyId, key: short(key), olderKey: key }
  const { rows } = await recordOf(tx, by)
  // What is written over a record of the older form stands beside it.
  return rows.find((row) => row.key === by.key) ?? rows[0]
}

/** Whether a record is of the request with that fingerprint. */
export function isOf(record: IdempotencyRecordRow, fingerprint: string): boolean {
  return [fingerprint, short(fingerprint)].includes(record.fingerprint)
}

const recordOf = prepared((db, by: { partyId: string; key: string; olderKey: string }) =>
  db
    .selectFrom('idempotencyRecords')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('key', 'in', [by.key, by.olderKey]),
)

type Answered = Pick<IdempotencyRecordRow, 'state' | 'status' | 'answer' | 'finishedAtMs'>

/** Writes the record of a key, over the one it may have had. */
export async function putIdempotencyRecord(tx: Transaction, of: RequestHashes & Answered): Promise<void> {
  await put(tx, { ...of, key: short(of.key), fingerprint: short(of.fingerprint), body: null })
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

/**
 * When the last operation finished, after that moment, whose answer the root key of that id seals by itself, as it did
 * before keys could be retired; undefined: there is none.
 */
export async function lastSealedByKey(tx: Transaction, keyId: number, afterMs: number): Promise<number | undefined> {
  const mark = `${keyId}.`
  const inBytes = sql<boolean>`substr("answer", 1, ${sql.lit(mark.length)}) = ${Buffer.from(mark)}`
  const asText = sql<boolean>`"answer" is null and "body" like ${`${mark}%`}`
  const { lastMs } = await tx.db
    .selectFrom('idempotencyRecords')
    .select((row) => row.fn.max('finishedAtMs').as('lastMs'))
    .where('finishedAtMs', '>', afterMs)
    .where((where) => where.or([inBytes, asText]))
    .executeTakeFirstOrThrow()
  return lastMs === null ? undefined : Number(lastMs)
}

/** Deletes the records of what finished the longest ago; gives their number. */
export const deleteIdempotencyRecords = deletingOldest('idempotencyRecords', ['partyId', 'key'], 'finishedAtMs')

/** When the last operation finished whose key is remembered, by the service's clock, as a part of the query that reads the clock. */
export function lastFinished(db: Kysely<Tables>) {
  return db.selectFrom('idempotencyRecords').select((row) => row.fn.max('finishedAtMs').as('max'))
}
