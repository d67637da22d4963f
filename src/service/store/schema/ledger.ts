import { bigint, type Column, filled, nullable, type RowOf, table, text } from './table.ts'

/** One side of a posting. The entries of a posting sum to zero; a wallet's balances are the sums of its entries. */
export const ledgerEntries = table({
  '0001_first_schema': {
    id: text,
    postingId: text,
    account: text as Column<
      'available' | 'held' | 'card_network' | 'payer_cards' | 'funding' | 'wire_network' | 'bank_network'
    >,
    /** Null for the accounts outside the service. */
    walletId: nullable(text),
    reason: text,
    /** The record that moved the money: a card transaction, a subscription. */
    sourceId: nullable(text),
    amountCents: bigint,
    createdAtMs: bigint,
    $checks: { account_has_owner: `("account" in ('available', 'held')) = ("walletId" is not null)` },
    $indexes: ['walletId'],
  },
  '0024_tenants': {
    /** Whose wallet it is; of an account outside the service, whose wallet the posting is about. */
    partyId: filled(text, ''),
    $tenantKey: ['partyId', 'id'],
  },
})

export type LedgerEntryRow = RowOf<typeof ledgerEntries>
