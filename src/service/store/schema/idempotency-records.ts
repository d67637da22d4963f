import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const idempotencyRecords = table({
  '0001_first_schema': {
    /** The party the request acts on: keys are scoped to it. */
    partyId: text,
    /** SHA-256 of the Idempotency-Key. */
    key: text,
    /** SHA-256 of method, path and canonical body. */
    fingerprint: text,
    /** `unresolved`: accepted, answered 503, to be repeated. `finished`: `status` and `body` replay. */
    state: text as Column<'unresolved' | 'finished'>,
    /** Sealed: only the Idempotency-Key itself opens it. */
    body: nullable(text),
    status: nullable(integer),
    finishedAtMs: nullable(bigint),
    $key: ['partyId', 'key'],
    $indexes: ['finishedAtMs'],
  },
})

export type IdempotencyRecordRow = RowOf<typeof idempotencyRecords>
