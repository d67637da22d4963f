import type { TimedKind } from '../../rules/failed-effects.ts'
import { bigint, type Column, integer, type RowOf, table, text } from './table.ts'

/** Due effects that failed and wait for their next try. All times are the service's. */
export const failedEffects = table({
  partyId: text,
  kind: text as Column<TimedKind>,
  recordId: text,
  attempts: integer,
  /** Why the last attempt failed. */
  error: text,
  /** When the effect was due; the record's own column has the next try instead. */
  dueAtMs: bigint,
  retryAtMs: bigint,
  $key: ['partyId', 'kind', 'recordId'],
})

export type FailedEffectRow = RowOf<typeof failedEffects>
