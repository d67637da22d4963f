import { dueAtMs, lastPaymentNumber, type PaymentAmount, paymentAmount, type Terms } from './subscription-terms.ts'
import { type Billing, nextPayment } from './subscriptions.ts'

export interface PaymentState extends PaymentAmount {
  paymentNumber: number
  /** Null while nobody has paid payment 1: the others fall due from that day. */
  dueMs: number | null
  status: 'paid' | 'marked_paid' | 'missed' | 'scheduled'
}

/** The last payment that there is to tell of: of terms without end the next one, of what has ended the last settled. */
export function lastToldPayment(terms: Terms, billing: Billing): number {
  const next = nextPayment(terms, billing)
  if (next === null) return Math.min(billing.current - 1, lastPaymentNumber(terms))
  return terms.paymentCount === null ? next.paymentNumber : lastPaymentNumber(terms)
}

/** How one payment stands. */
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

/** Returns the payment key of a charge's transaction: the database allows one transaction for each. */
export function chargeKey(subscriptionId: string, paymentNumber: number): string {
  return `${subscriptionId}/${paymentNumber}`
}
