import { bigint, type Column, integer, table } from './table.ts'

/** One row: the service's clock. */
export const clock = table({
  id: integer as Column<1>,
  /** How far the sandbox's clock is ahead of real time. */
  offsetMs: bigint,
  /** Rises with a reset or a restore of the sandbox: only then may time begin again. */
  epoch: integer,
  /** The latest real time that any process has seen. The clock never runs below it, whatever a machine's clock says. */
  highestMs: bigint,
  /** How many rules of the sandbox's faults there are, so that a request without any to ask learns it with the time. */
  faultRules: integer,
  /** How many are of the kind `stale`, for which each change keeps what was there before. */
  staleRules: integer,
  /** Rises whenever a rule of the faults or a snapshot comes or goes: who looks now and then misses no change. */
  settingsRevision: integer,
  $checks: { one_row: '"id" = 1' },
})
