import { bigint, filled, integer, type RowOf, table, text } from './table.ts'

/** A payment that was charged. Its number is part of the key, so that it cannot be charged twice. */
export const subscriptionPayments = table({
  '0002_subscriptions': {
    subscriptionId: text,
    paymentNumber: integer,
    amountCents: bigint,
    taxCents: bigint,
    chargedAtMs: bigint,
    $key: ['subscriptionId', 'paymentNumber'],
    $checks: { tax_within_amount: '"taxCents" between 0 and "amountCents"' },
  },
  '0024_tenants': {
    /** The merchant's, as of the subscription. */
    partyId: filled(text, ''),
    $tenantKey: ['partyId', 'subscriptionId', 'paymentNumber'],
  },
})

export type SubscriptionPaymentRow = RowOf<typeof subscriptionPayments>
