import { bigint, type Column, flag, integer, nullable, type RowOf, table, text } from './table.ts'

/** One row about the world that the sandbox was filled with. A reset restores that world (docs/sandbox.md#worlds). */
export const world = table({
  id: integer as Column<1>,
  /**
   * The world's digest (`digestOfSeeding`); null if an early version filled the sandbox. Startup compares this digest
   * with the digest of the requested world, to notice if the two worlds differ.
   */
  digest: nullable(text),
  /** The party whose credentials manage the sandbox. */
  firstPartyId: text,
  /** Whether the world is for a rehearsal of an agent. In such a world, agents may not manage the sandbox. */
  isRehearsal: flag,
  /** The time on the sandbox clock at which the world begins; null if the world begins at the current real time. */
  startsAtMs: nullable(bigint),
  /** The shops that are open in the world, as JSON; null if all built-in shops are open. */
  shops: nullable(text),
  $checks: { one_row: '"id" = 1' },
})

export type WorldRow = RowOf<typeof world>
