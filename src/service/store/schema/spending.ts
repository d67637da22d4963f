import { bigint, type RowOf, table, text } from './table.ts'

/**
 * An agent's spending from a party's wallets: one total for the latest day with spending, and one for the latest month
 * with spending. Limits are checked against these totals. They are updated in the transaction that spends the money.
 */
export const spending = table({
  partyId: text,
  /** An empty string for spending that no agent started. */
  agentId: text,
  /** The start of the day, and the amount spent that day. The next two columns contain the same for the month. */
  dayMs: bigint,
  dayCents: bigint,
  monthMs: bigint,
  monthCents: bigint,
  $key: ['partyId', 'agentId'],
})

export type SpendingRow = RowOf<typeof spending>
