import { bigint, table, text } from './table.ts'

/**
 * The used part of a credential's limit in its latest window. Every credential that ever sent a request has one row.
 */
export const rateLimits = table({
  keyId: text,
  /** The number of requests that processes reserved, which may exceed the limit. */
  taken: bigint,
  /** In real time. */
  endsAtMs: bigint,
  $key: ['keyId'],
})
