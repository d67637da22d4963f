import { dueAtMs, lastPaymentNumber, type PaymentAmount, paymentAmount, type Terms } from './subscription-terms.ts'
import { type Billing, nextPayment } from './subscriptions.ts'

export interface PaymentState extends PaymentAmount {
  paymentNumber: number
  /**
   * The time when the payment is due. Null until payment 1 is paid, because all due dates are counted from that
   * payment.
   */
  dueMs: number | null
  status: 'paid' | 'marked_paid' | 'missed' | 'scheduled'
}

/**
 * Returns the number of the last payment to list. This is the last payment of the terms or, if the terms have no end,
 * the next payment. If no payment is left to charge, this is the last payment that was missed, paid or marked as paid.
 */
export function lastListedPayment(terms: Terms, billing: Billing): number {
  const next = nextPayment(terms, billing)
  if (next === null) return Math.min(billing.current - 1, lastPaymentNumber(terms))
  return terms.paymentCount === null ? next.paymentNumber : lastPaymentNumber(terms)
}

/** Returns the state of one payment. */
export function paymentState(terms: Terms, billing: Billing, paymentNumber: number, charged: boolean): PaymentState {
  const { anchorMs, missed, current } = billing
  const settled = missed.includes(paymentNumber) ? 'missed' : paymentNumber < current ? 'marked_paid' : 'scheduled'
  return {
    paymentNumber,
    dueMs: anchorMs === null ? null : dueAtMs(terms, anchorMs, paymentNumber),
    status: charged ? 'paid' : settled,
    ...paymentAmount(terms, paymentNumber),
  }
}

/** Returns the key of a charge. The database stores at most one charge for each key. */
export function chargeKey(subscriptionId: string, paymentNumber: number): string {
  return `${subscriptionId}/${paymentNumber}`
}
