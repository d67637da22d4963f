import { bigint, type Column, integer, table } from './table.ts'

/** One row: the service's clock. */
export const clock = table({
  id: integer as Column<1>,
  /** How far the sandbox's clock is ahead of real time. */
  offsetMs: bigint,
  /** Rises with a reset or a restore of the sandbox. The clock may go back only then. */
  epoch: integer,
  /**
   * The latest real time that any process has seen. The service's clock never goes back before it, whatever a machine's
   * clock shows.
   */
  highestMs: bigint,
  /**
   * The number of the sandbox's fault rules. It is read together with the time, so that requests know when there are no
   * rules.
   */
  faultRules: integer,
  /** The number of rules of the kind `stale`. While there are any, each change stores the previous state. */
  staleRules: integer,
  /**
   * Rises whenever a fault rule or a snapshot is added or removed, so that a process that polls it misses no change.
   */
  settingsRevision: integer,
  $checks: { one_row: '"id" = 1' },
})
