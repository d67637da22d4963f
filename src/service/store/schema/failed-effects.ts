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
  /** When the effect was originally due. Meanwhile, the record itself has `retryAtMs` as its due time. */
  dueAtMs: bigint,
  retryAtMs: bigint,
  $key: ['partyId', 'kind', 'recordId'],
})

export type FailedEffectRow = RowOf<typeof failedEffects>
