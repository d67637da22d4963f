import { bigint, type Column, flag, integer, nullable, type RowOf, table, text } from './table.ts'

/** One row about the world that the sandbox was filled with. A reset restores that world (docs/sandbox.md#worlds). */
export const world = table({
  id: integer as Column<1>,
  /** The world's name and a hash of its file; null if unknown. Startup compares it to detect a different world. */
  digest: nullable(text),
  /** The party whose credentials manage the sandbox. */
  firstPartyId: text,
  /** Set while an agent is rehearsed in this world. During that time, the agent may not manage the sandbox. */
  isRehearsal: flag,
  /** The time that the sandbox clock shows when the world begins; null if it shows real time. */
  startsAtMs: nullable(bigint),
  /** The open shops, as JSON; null for the built-in shops. */
  shops: nullable(text),
  $checks: { one_row: '"id" = 1' },
})

export type WorldRow = RowOf<typeof world>
