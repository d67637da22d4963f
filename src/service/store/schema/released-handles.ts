import { bigint, type RowOf, table, text } from './table.ts'

/** A handle that a party gave up. No other party can take the handle until `untilMs`. */
export const releasedHandles = table({
  handle: text,
  partyId: text,
  untilMs: bigint,
  $key: ['handle'],
  $keyOnly: true,
})

export type ReleasedHandleRow = RowOf<typeof releasedHandles>
