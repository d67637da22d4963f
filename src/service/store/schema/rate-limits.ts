import { bigint, table, text } from './table.ts'

/**
 * The use of one credential's rate limit in the latest time window. Each credential that has ever sent a request has
 * one row.
 */
export const rateLimits = table({
  keyId: text,
  /** The number of requests that processes have reserved in this window. This number can exceed the limit. */
  taken: bigint,
  /** The end of the window, on the real clock. */
  endsAtMs: bigint,
  $key: ['keyId'],
})
