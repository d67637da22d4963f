import { bigint, type Column, flag, nullable, type RowOf, table, text } from './table.ts'

/** A completed movement of money. The payer and the recipient see the same row. */
export const transactions = table({
  id: text,
  transactionType: text as Column<'payment' | 'transfer'>,
  /**
   * The id of the payment, wire, deposit or withdrawal that moved the money. For a charge of a subscription, the
   * charge's `chargeKey`.
   */
  paymentId: text,
  /** Null if the payer is outside the service. */
  sourcePartyId: nullable(text),
  sourceWalletId: nullable(text),
  destinationPartyId: nullable(text),
  destinationWalletId: nullable(text),
  currency: text as Column<'USD'>,
  description: nullable(text),
  delegated: flag,
  amountCents: bigint,
  createdAtMs: bigint,
  /**
   * The subscription, if the transaction is a charge of a subscription. The payer of a charge is outside the service.
   */
  subscriptionId: nullable(text),
  /** The party that the row belongs to: the payer, or the recipient if the payer is outside the service. */
  partyId: text,
  /** When a bank took back or returned the money; null if neither has happened. */
  returnedAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['id'],
  $uniqueIndexes: ['paymentId'],
  $namedIndexes: {
    source: '("sourcePartyId", "transactionType", "delegated", "id")',
    destination: '("destinationPartyId", "transactionType", "delegated", "id")',
    source_wallet: '("sourceWalletId", "transactionType", "delegated", "id")',
    destination_wallet: '("destinationWalletId", "transactionType", "delegated", "id")',
    source_counterparty: '("sourceWalletId", "destinationPartyId", "transactionType", "delegated", "id")',
    destination_counterparty: '("destinationWalletId", "sourcePartyId", "transactionType", "delegated", "id")',
  },
})

export type TransactionRow = RowOf<typeof transactions>
