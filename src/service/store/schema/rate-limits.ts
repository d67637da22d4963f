import { bigint, table, text } from './table.ts'

/**
 * How much of its rate limit a credential has used in its latest window. Every credential that ever sent a request has
 * one row.
 */
export const rateLimits = table({
  keyId: text,
  /** The number of requests that processes have reserved in this window. It can exceed the limit. */
  taken: bigint,
  /** The end of the window, on the real clock. */
  endsAtMs: bigint,
  $key: ['keyId'],
})
