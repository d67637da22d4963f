import { type RowOf, table, text } from './table.ts'

/**
 * A party's rows in the tables that read requests use, as they were before the last change to any of these rows. They
 * are stored while a `stale` fault rule exists. Read requests that this fault hits are answered from the stored rows.
 */
export const earlierStates = table({
  partyId: text,
  /** The rows, grouped by table, as JSON. */
  rows: text,
  $key: ['partyId'],
})

export type EarlierStateRow = RowOf<typeof earlierStates>
