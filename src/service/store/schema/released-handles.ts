import { bigint, type RowOf, table, text } from './table.ts'

/** Handles that a party gave up, without the `@`: nobody else takes them until then. */
export const releasedHandles = table({
  handle: text,
  partyId: text,
  untilMs: bigint,
  $key: ['handle'],
  $keyOnly: true,
})

export type ReleasedHandleRow = RowOf<typeof releasedHandles>
