import { bigint, type RowOf, table, text } from './table.ts'

/**
 * The money that each agent spent of a party's, in the latest day and month in which it spent any. Limits are compared
 * with it. It changes in the same transaction as the spending it counts.
 */
export const spending = table({
  partyId: text,
  /** Empty for spending that no agent started. */
  agentId: text,
  /** The start of the day, and the amount spent since. */
  dayMs: bigint,
  dayCents: bigint,
  monthMs: bigint,
  monthCents: bigint,
  $key: ['partyId', 'agentId'],
})

export type SpendingRow = RowOf<typeof spending>
