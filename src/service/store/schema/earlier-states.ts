import { type RowOf, table, text } from './table.ts'

/** A party's rows as they were before its last change. They are stored while a rule of the kind `stale` is set. */
export const earlierStates = table({
  partyId: text,
  /** The rows by table, as JSON. */
  rows: text,
  $key: ['partyId'],
})

export type EarlierStateRow = RowOf<typeof earlierStates>
