import { type RowOf, table, text } from './table.ts'

/**
 * The rows of a party that requests can read, as they were before the last change to any of them. They are stored while
 * a `stale` fault rule exists. Reads with this fault return the stored rows.
 */
export const earlierStates = table({
  partyId: text,
  /** The rows, grouped by table, as JSON. */
  rows: text,
  $key: ['partyId'],
})

export type EarlierStateRow = RowOf<typeof earlierStates>
