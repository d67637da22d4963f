import { bigint, type Column, integer, table } from './table.ts'

/** One row: the sandbox clock, the number of fault rules, and a counter of changes to fault rules and snapshots. */
export const clock = table({
  id: integer as Column<1>,
  /** How far the sandbox clock is ahead of real time. */
  offsetMs: bigint,
  /** Increases with each reset or restore of the sandbox. Only a reset or restore can set the sandbox clock back. */
  epoch: integer,
  /**
   * The latest real time that a process has stored in this epoch. Even if a machine's clock is set back, the service
   * never uses a time before this one.
   */
  highestMs: bigint,
  /** The number of fault rules in the sandbox. If there are none, requests skip the query for the rules. */
  faultRules: integer,
  /**
   * The number of fault rules of the kind `stale`. While there are any, each change to a party's records also stores
   * these records as they were before.
   */
  staleRules: integer,
  /** Increases whenever a fault rule or a snapshot is added or removed. Processes poll this number. */
  settingsRevision: integer,
  $checks: { one_row: '"id" = 1' },
})
