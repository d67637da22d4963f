import { bigint, type RowOf, table, text } from './table.ts'

/**
 * The money that an agent spent from a party's wallets on the last day, and in the last month, in which it spent any.
 * Limits are compared with these totals. They change in the same transaction as the spending.
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
