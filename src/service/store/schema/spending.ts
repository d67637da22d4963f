import { bigint, type RowOf, table, text } from './table.ts'

/**
 * Two totals of an agent's spending from a party's wallets: for its latest day with spending, and for its latest month
 * with spending. Limits are checked against these totals, which are updated in the transaction that spends the money.
 */
export const spending = table({
  partyId: text,
  /** An empty string for spending that no agent started. */
  agentId: text,
  /** The start of the day, and the amount spent on that day. */
  dayMs: bigint,
  dayCents: bigint,
  monthMs: bigint,
  monthCents: bigint,
  $key: ['partyId', 'agentId'],
})

export type SpendingRow = RowOf<typeof spending>
