import { type RowOf, table, text } from './table.ts'

/** A party's rows before their last change, stored while a `stale` fault rule exists. Stale reads return them. */
export const earlierStates = table({
  partyId: text,
  /** The rows, grouped by table, as JSON. */
  rows: text,
  $key: ['partyId'],
})

export type EarlierStateRow = RowOf<typeof earlierStates>
