import { bigint, bytes, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const idempotencyRecords = table({
  /** The party the request acts on: keys are scoped to it. */
  partyId: text,
  /** The first half of the SHA-256 of the Idempotency-Key. */
  key: text,
  /** The first half of the SHA-256 of method, path and canonical body. */
  fingerprint: text,
  /** `unresolved`: accepted, answered 503, to be repeated. `finished`: `status` and `answer` replay. */
  state: text as Column<'unresolved' | 'finished'>,
  status: nullable(integer),
  finishedAtMs: nullable(bigint),
  /** Deflated, then sealed: only the Idempotency-Key itself opens it. */
  answer: nullable(bytes),
  $key: ['partyId', 'key'],
  $indexes: ['finishedAtMs'],
})

export type IdempotencyRecordRow = RowOf<typeof idempotencyRecords>
