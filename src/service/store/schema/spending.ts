import { bigint, type RowOf, table, text } from './table.ts'

/**
 * What was spent of a party's money, by each agent, in the latest day and month in which it spent: what limits are
 * compared with. It moves with what it counts, in the same transaction.
 */
export const spending = table({
  partyId: text,
  /** Empty for what no agent started. */
  agentId: text,
  /** When the day began, and what was spent since. */
  dayMs: bigint,
  dayCents: bigint,
  monthMs: bigint,
  monthCents: bigint,
  $key: ['partyId', 'agentId'],
})

export type SpendingRow = RowOf<typeof spending>
