import { bigint, table, text } from './table.ts'

/** How much of its limit a credential has used up in its latest window: one row for each that ever sent a request. */
export const rateLimits = table({
  keyId: text,
  /** What processes took for it, which may be more than there is. */
  taken: bigint,
  /** In real time. */
  endsAtMs: bigint,
  $key: ['keyId'],
})
