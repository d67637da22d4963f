import type { TimedKind } from '../../rules/failed-effects.ts'
import { bigint, type Column, integer, type RowOf, table, text } from './table.ts'

/** Due effects that failed and wait for a retry. All times are on the sandbox clock. */
export const failedEffects = table({
  partyId: text,
  kind: text as Column<TimedKind>,
  recordId: text,
  attempts: integer,
  /** The error of the last attempt. */
  error: text,
  /** The time when the effect was originally due. Until the retry, the due time in the record itself is `retryAtMs`. */
  dueAtMs: bigint,
  retryAtMs: bigint,
  $key: ['partyId', 'kind', 'recordId'],
})

export type FailedEffectRow = RowOf<typeof failedEffects>
