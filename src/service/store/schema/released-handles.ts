import { bigint, type RowOf, table, text } from './table.ts'

/** Handles that a party gave up, without the `@`. No other party can take them until `untilMs`. */
export const releasedHandles = table({
  handle: text,
  partyId: text,
  untilMs: bigint,
  $key: ['handle'],
  $keyOnly: true,
})

export type ReleasedHandleRow = RowOf<typeof releasedHandles>
