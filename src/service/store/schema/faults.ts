import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** The sandbox's rules for injected failures (docs/sandbox.md#faults). The number of rules is stored in `clock`. */
export const faults = table({
  id: text,
  /** The position of the rule. Rules are checked in ascending order of this number. */
  place: integer,
  origin: text as Column<'file' | 'operation'>,
  /** The rule as JSON. */
  rule: text,
  /** The party that set the rule; null if the rule came from a file. */
  partyId: nullable(text),
  matched: bigint,
  hits: bigint,
})

export type FaultRow = RowOf<typeof faults>
