import { bigint, type RowOf, table, text } from './table.ts'

/**
 * Two totals of an agent's spending from a party's wallets: on the agent's latest day with spending, and in the latest
 * such month. Limits are checked against these totals, which are updated in the transaction that spends the money.
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
