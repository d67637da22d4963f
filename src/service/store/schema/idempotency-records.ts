import { bigint, bytes, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const idempotencyRecords = table({
  '0001_first_schema': {
    /** The party the request acts on: keys are scoped to it. */
    partyId: text,
    /** SHA-256 of the Idempotency-Key, since 0022 the first half of it. */
    key: text,
    /** SHA-256 of method, path and canonical body, since 0022 the first half of it. */
    fingerprint: text,
    /** `unresolved`: accepted, answered 503, to be repeated. `finished`: `status` and `body` replay. */
    state: text as Column<'unresolved' | 'finished'>,
    /** What was recorded before 0022: sealed, only the Idempotency-Key itself opens it. */
    body: nullable(text),
    status: nullable(integer),
    finishedAtMs: nullable(bigint),
    $key: ['partyId', 'key'],
    $indexes: ['finishedAtMs'],
  },
  '0022_storage': {
    /** Deflated, then sealed: only the Idempotency-Key itself opens it. */
    answer: nullable(bytes),
  },
})

export type IdempotencyRecordRow = RowOf<typeof idempotencyRecords>
