import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** The rules by which the sandbox fails on purpose (docs/sandbox.md#faults); `clock` has how many there are. */
export const faults = table({
  id: text,
  /** They are asked in this order. */
  place: integer,
  origin: text as Column<'file' | 'operation'>,
  /** The rule as JSON. */
  rule: text,
  /** Who set it; null: a file. */
  partyId: nullable(text),
  matched: bigint,
  hits: bigint,
})

export type FaultRow = RowOf<typeof faults>
