import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/**
 * One side of a posting. The entries of a posting sum to zero. A wallet's available balance is the sum of its
 * `available` entries, and its held balance the sum of its `held` entries.
 */
export const ledgerEntries = table({
  id: text,
  postingId: text,
  account: text as Column<
    'available' | 'held' | 'card_network' | 'payer_cards' | 'funding' | 'wire_network' | 'bank_network'
  >,
  /** Null for an account outside the service. All accounts except `available` and `held` are outside the service. */
  walletId: nullable(text),
  reason: text,
  /** The record that moved the money, such as a card transaction or a subscription. */
  sourceId: nullable(text),
  amountCents: bigint,
  createdAtMs: bigint,
  /** The owner of the wallet. For an account outside the service, the owner of a wallet in the same posting. */
  partyId: text,
  $tenant: 'partyId',
  $checks: { account_has_owner: `("account" in ('available', 'held')) = ("walletId" is not null)` },
})

export type LedgerEntryRow = RowOf<typeof ledgerEntries>
