import { bigint, bytes, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const idempotencyRecords = table({
  /** The party that the request acts on. Two parties may use the same key. */
  partyId: text,
  /** The first half of the SHA-256 of the Idempotency-Key. */
  key: text,
  /** The first half of the SHA-256 of the request's method, path and canonical body. */
  fingerprint: text,
  /**
   * `unresolved`: the request was accepted but answered with 503, so the caller must repeat the request. `finished`: a
   * repeated request gets the stored `status` and `answer`.
   */
  state: text as Column<'unresolved' | 'finished'>,
  status: nullable(integer),
  finishedAtMs: nullable(bigint),
  /**
   * The body of the answer. A body that may contain a secret is compressed and encrypted, and can be decrypted only
   * with the Idempotency-Key.
   */
  answer: nullable(bytes),
  $key: ['partyId', 'key'],
  $indexes: ['finishedAtMs'],
})

export type IdempotencyRecordRow = RowOf<typeof idempotencyRecords>
