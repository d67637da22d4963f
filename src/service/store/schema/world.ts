import { bigint, type Column, flag, integer, nullable, type RowOf, table, text } from './table.ts'

/** One row: the world that the sandbox was filled with, which a reset goes back to (docs/sandbox.md#worlds). */
export const world = table({
  id: integer as Column<1>,
  /** The world's name and a hash of its file, by which a start finds out whether it is another; null: not known. */
  digest: nullable(text),
  /** The party whose credentials manage the sandbox. */
  firstPartyId: text,
  /** An agent is rehearsed in it, which may not manage the sandbox then. */
  isRehearsal: flag,
  /** What the service's clock shows when the world begins; null: real time. */
  startsAtMs: nullable(bigint),
  /** The shops that are open, as JSON; null: those of the package. */
  shops: nullable(text),
  $checks: { one_row: '"id" = 1' },
})

export type WorldRow = RowOf<typeof world>
