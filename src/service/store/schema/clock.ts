import { bigint, type Column, filled, integer, type RowOf, table } from './table.ts'

/** One row: the service's clock. */
export const clock = table({
  '0001_first_schema': {
    id: integer as Column<1>,
    /** How far the sandbox's clock is ahead of real time. */
    offsetMs: bigint,
    $checks: { one_row: '"id" = 1' },
  },
  '0014_highest_time': {
    /** Rises with a reset or a restore of the sandbox: only then may time begin again. */
    epoch: filled(integer, '1'),
    /** The latest real time that any process has seen. The clock never runs below it, whatever a machine's clock says. */
    highestMs: filled(bigint, '0'),
  },
  '0031_faults': {
    /** How many rules of the sandbox's faults there are, so that a request without any to ask learns it with the time. */
    faultRules: filled(integer, '0'),
    /** How many are of the kind `stale`, for which each change keeps what was there before. */
    staleRules: filled(integer, '0'),
  },
  '0038_settings_revision': {
    /** Rises whenever a rule of the faults or a snapshot comes or goes: who looks now and then misses no change. */
    settingsRevision: filled(integer, '0'),
  },
})

export type ClockRow = RowOf<typeof clock>
