import { bigint, integer, type RowOf, table, text } from './table.ts'

/** A subscription's payment that has been charged. The primary key ensures that no payment is charged twice. */
export const subscriptionPayments = table({
  subscriptionId: text,
  paymentNumber: integer,
  amountCents: bigint,
  taxCents: bigint,
  chargedAtMs: bigint,
  /** The party that owns the subscription, which is the merchant. */
  partyId: text,
  $tenant: 'partyId',
  $key: ['subscriptionId', 'paymentNumber'],
  $checks: { tax_within_amount: '"taxCents" between 0 and "amountCents"' },
})

export type SubscriptionPaymentRow = RowOf<typeof subscriptionPayments>
