import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import { fail } from '../../core/errors.ts'
import type { PaymentStatus } from './payments.ts'
import { next, type Transitions } from './transitions.ts'

export type PaymentRequestStatus = (typeof paymentRequestStatuses)[number]

/**
 * The events of a payment request. `begin` means that the payment of the request is now in review or at a bank.
 * `reopen` means that this payment ended before any money moved.
 */
export type PaymentRequestEvent = 'begin' | 'pay' | 'fail' | 'return' | 'reopen' | 'decline' | 'cancel' | 'expire'

/**
 * The transitions of a payment request (docs/service.md#payment-requests). Nobody can decline or cancel a request while
 * its payment is in progress.
 */
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

/** Returns the status of a request after an event. @throws 409 `conflict` if the current status rules out the event. */
export function nextRequestStatus(status: PaymentRequestStatus, event: PaymentRequestEvent): PaymentRequestStatus {
  const after = next<PaymentRequestStatus, PaymentRequestEvent>(paymentRequestTransitions, status, event)
  return after ?? fail('conflict', { detail: `The payment request is ${status}: ${statusReasons[status]}` })
}

/**
 * For each status, the reason why a request in this status cannot change. Some reasons also state what to do instead.
 */
const statusReasons: Readonly<Record<PaymentRequestStatus, string>> = {
  OPEN: 'it has not been paid yet.',
  PROCESSING: 'its payment is in progress. Read the request again once the payment has succeeded or failed.',
  COMPLETED: 'it was paid, and the payment cannot be undone here.',
  FAILED: 'the bank refused its payment. The requester can send a new request with create_payment_request.',
  RETURNED: 'the bank returned its payment. The requester can send a new request with create_payment_request.',
  CANCELED: 'the requester canceled it.',
  DECLINED: 'the payer declined it.',
  EXPIRED: 'it was not paid within 30 days. The requester can send a new request with create_payment_request.',
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

/** Returns the event that the payment's status causes for the payment request; null if it causes none. */
export function eventOfPayment(status: PaymentRequestStatus, payment: PaymentStatus): PaymentRequestEvent | null {
  const event = eventsOfPayment[payment]
  // If the payment was in review, the request is already PROCESSING. When the approved payment then goes to the bank,
  // the request does not change again.
  return event === 'begin' && status === 'PROCESSING' ? null : event
}

/**
 * Refuses a second payment of a request. Two payments may start at the same time, for example one on the page and one
 * through the API. The caller reads the request again just before it stores a payment, so this check sees the payment
 * that was stored first.
 * @throws 409 `conflict` if the request has a different payment.
 */
export function requireOnlyPayment(
  { status, paymentId }: { status: PaymentRequestStatus; paymentId: string | null },
  id: string,
): void {
  if (paymentId === null || paymentId === id) return
  fail('conflict', { detail: `The payment request is ${status}: ${statusReasons[status]}` })
}

/** How long a request can be paid after its creation. */
export const requestOpenMs = 30 * 24 * 60 * 60_000

interface Expiring {
  status: PaymentRequestStatus
  openUntilMs: number | null
  updatedAtMs: number
}

/**
 * Returns a payment request as it is at `nowMs`. A request is expired from `openUntilMs` on, even if the expiry is not
 * stored yet. Only the payer can encounter an expiry that is not stored: each API request by the requester first
 * applies all due effects of the requester, and these include the expiry.
 */
export function asOf<Row extends Expiring>(row: Row, nowMs: number): Row {
  const { openUntilMs } = row
  if (openUntilMs === null || openUntilMs > nowMs) return row
  return { ...row, status: nextRequestStatus(row.status, 'expire'), openUntilMs: null, updatedAtMs: openUntilMs }
}
