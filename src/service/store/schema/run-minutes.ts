import { bigint, type RowOf, table, text } from './table.ts'

/**
 * The totals of a run for one minute in which the run has entries. The chart above the console's list of runs shows
 * sums of these totals.
 */
export const runMinutes = table({
  partyId: text,
  /** The beginning of the minute, on the sandbox clock. */
  minuteMs: bigint,
  runId: text,
  calls: bigint,
  refused: bigint,
  spentCents: bigint,
  /** The real time of recording, which decides when the row is deleted. */
  recordedAtMs: bigint,
  $key: ['partyId', 'minuteMs', 'runId'],
  $keyOnly: true,
  $indexes: ['recordedAtMs'],
})

export type RunMinuteRow = RowOf<typeof runMinutes>
