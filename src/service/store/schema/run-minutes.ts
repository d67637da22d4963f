import { bigint, type RowOf, table, text } from './table.ts'

/**
 * Totals of a run for each minute in which it has entries. The chart above the list of runs shows sums of these totals.
 */
export const runMinutes = table({
  partyId: text,
  /** The beginning of the minute, on the service's clock. */
  minuteMs: bigint,
  runId: text,
  calls: bigint,
  refused: bigint,
  spentCents: bigint,
  /** In real time; decides when the row is deleted. */
  recordedAtMs: bigint,
  $key: ['partyId', 'minuteMs', 'runId'],
  $keyOnly: true,
  $indexes: ['recordedAtMs'],
})

export type RunMinuteRow = RowOf<typeof runMinutes>
