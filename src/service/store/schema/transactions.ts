import { bigint, type Column, filled, flag, nullable, type RowOf, table, text } from './table.ts'

/** Money that arrived, as both sides see it. */
export const transactions = table({
  '0003_payments': {
    id: text,
    transactionType: text as Column<'payment' | 'transfer'>,
    /** The payment, wire or deposit that moved it; of a subscription's charge its key. */
    paymentId: text,
    /** Null outside the service. */
    sourcePartyId: nullable(text),
    sourceWalletId: nullable(text),
    destinationPartyId: nullable(text),
    destinationWalletId: nullable(text),
    currency: text as Column<'USD'>,
    description: nullable(text),
    delegated: flag,
    amountCents: bigint,
    createdAtMs: bigint,
    $indexes: ['sourcePartyId id', 'destinationPartyId id'],
    $uniqueIndexes: ['paymentId'],
  },
  '0016_subscription_transactions': {
    /** The subscription of a charge, which a payer outside pays. */
    subscriptionId: nullable(text),
  },
  '0020_lists': {
    $namedIndexes: {
      source: '("sourcePartyId", "transactionType", "delegated", "id")',
      destination: '("destinationPartyId", "transactionType", "delegated", "id")',
      source_wallet: '("sourceWalletId", "transactionType", "delegated", "id")',
      destination_wallet: '("destinationWalletId", "transactionType", "delegated", "id")',
      source_counterparty: '("sourceWalletId", "destinationPartyId", "transactionType", "delegated", "id")',
      destination_counterparty: '("destinationWalletId", "sourcePartyId", "transactionType", "delegated", "id")',
    },
    $droppedIndexes: ['sourcePartyId id', 'destinationPartyId id'],
  },
  '0024_tenants': {
    /** In whose books it was entered: who paid, or who was paid where the payer is outside. */
    partyId: filled(text, ''),
    $tenantKey: ['partyId', 'id'],
    $postgresIndexes: ['id'],
  },
  '0035_whole_api': {
    /** When a bank took the money back, or sent it. */
    returnedAtMs: nullable(bigint),
  },
})

export type TransactionRow = RowOf<typeof transactions>
