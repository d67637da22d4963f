import { bigint, type Column, integer, table } from './table.ts'

/** One row: the sandbox clock, and counters about its fault rules and snapshots. */
export const clock = table({
  id: integer as Column<1>,
  /** How far the sandbox clock is ahead of real time. */
  offsetMs: bigint,
  /** Increases when the sandbox is reset or restored. The clock goes back only then. */
  epoch: integer,
  /**
   * The latest real time that a process has stored in this epoch. Even if a machine's clock is set back, the service
   * never reads an earlier time.
   */
  highestMs: bigint,
  /** The number of fault rules in the sandbox. If it is 0, requests skip the query for the rules. */
  faultRules: integer,
  /** The number of fault rules of the kind `stale`. While it is above 0, each change stores the previous state. */
  staleRules: integer,
  /** Increases whenever a fault rule or a snapshot is added or removed. Processes poll it to notice these changes. */
  settingsRevision: integer,
  $checks: { one_row: '"id" = 1' },
})
