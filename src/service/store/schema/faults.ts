import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** The sandbox's rules for injected failures (docs/sandbox.md#faults). Their number is in `clock`. */
export const faults = table({
  id: text,
  /** Rules are checked in this order. */
  place: integer,
  origin: text as Column<'file' | 'operation'>,
  /** The rule as JSON. */
  rule: text,
  /** The party that set it; null if it came from a file. */
  partyId: nullable(text),
  matched: bigint,
  hits: bigint,
})

export type FaultRow = RowOf<typeof faults>
