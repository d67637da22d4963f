import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import { fail } from '../../core/errors.ts'
import type { PaymentStatus } from './payments.ts'
import { next, type Transitions } from './transitions.ts'

export type PaymentRequestStatus = (typeof paymentRequestStatuses)[number]

/** `begin`: a payment of it is under way, in review or at a bank. `reopen`: that payment failed without a charge. */
export type PaymentRequestEvent = 'begin' | 'pay' | 'fail' | 'return' | 'reopen' | 'decline' | 'cancel' | 'expire'

/** The flow of a payment request (docs/service.md#payment-requests). While a payer pays it, it cannot be ended. */
export const paymentRequestTransitions = {
  OPEN: { begin: 'PROCESSING', pay: 'COMPLETED', decline: 'DECLINED', cancel: 'CANCELED', expire: 'EXPIRED' },
  PROCESSING: { pay: 'COMPLETED', fail: 'FAILED', reopen: 'OPEN' },
  COMPLETED: { return: 'RETURNED' },
  FAILED: {},
  RETURNED: {},
  CANCELED: {},
  DECLINED: {},
  EXPIRED: {},
} as const satisfies Transitions<PaymentRequestStatus, PaymentRequestEvent>

/** The state that an event brings a payment request to. @throws 409 `conflict` where the table has none. */
export function nextRequestStatus(status: PaymentRequestStatus, event: PaymentRequestEvent): PaymentRequestStatus {
  const after = next<PaymentRequestStatus, PaymentRequestEvent>(paymentRequestTransitions, status, event)
  return after ?? fail('conflict', { detail: `The payment request is ${status}: ${standings[status]}` })
}

/** Why nothing can be done with it, and what can be done instead. */
const standings: Readonly<Record<PaymentRequestStatus, string>> = {
  OPEN: 'it has not been paid yet.',
  PROCESSING: 'a payment of it is in progress. Read it again once that payment has completed or ended.',
  COMPLETED: 'it was paid, which cannot be undone here.',
  FAILED: 'the bank refused its payment. The requester can send a new one with create_payment_request.',
  RETURNED: 'the bank sent its payment back. The requester can send a new one with create_payment_request.',
  CANCELED: 'the requester canceled it.',
  DECLINED: 'its payer declined it.',
  EXPIRED: 'it was open for 30 days. The requester can send a new one with create_payment_request.',
}

const eventsOfPayment: Readonly<Record<PaymentStatus, PaymentRequestEvent | null>> = {
  CREATED: null,
  IN_REVIEW: 'begin',
  PROCESSING: 'begin',
  // A payment of a request has a known recipient, so it needs no claim.
  PENDING_CLAIM: null,
  COMPLETED: 'pay',
  FAILED: 'fail',
  RETURNED: 'return',
  CANCELED: 'reopen',
  APPROVAL_DENIED: 'reopen',
}

/** Returns the event that the state of the fulfilling payment causes in a request; null if none. */
export function eventOfPayment(status: PaymentRequestStatus, payment: PaymentStatus): PaymentRequestEvent | null {
  const event = eventsOfPayment[payment]
  // It was reviewed, and waits for the bank now.
  return event === 'begin' && status === 'PROCESSING' ? null : event
}

/**
 * One payment fulfills a request. Another one that began at the same time, by the page, another credential or a simulation,
 * finds that out here at the latest: whoever writes the request reads it anew. @throws 409 `conflict`.
 */
export function requireOnlyPayment(
  { status, paymentId }: { status: PaymentRequestStatus; paymentId: string | null },
  id: string,
): void {
  if (paymentId === null || paymentId === id) return
  fail('conflict', { detail: `The payment request is ${status}: ${standings[status]}` })
}

/** The time that a request can be paid. */
export const requestOpenMs = 30 * 24 * 60 * 60_000

interface Expiring {
  status: PaymentRequestStatus
  openUntilMs: number | null
  updatedAtMs: number
}

/**
 * Returns a request as of a moment: one past its time has expired, even if that is not written yet. Due effects of the
 * requesting party are applied before it sees the request; its payer may come first.
 */
export function asOf<Row extends Expiring>(row: Row, nowMs: number): Row {
  const { openUntilMs } = row
  if (openUntilMs === null || openUntilMs > nowMs) return row
  return { ...row, status: nextRequestStatus(row.status, 'expire'), openUntilMs: null, updatedAtMs: openUntilMs }
}
