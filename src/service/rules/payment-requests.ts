import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import { fail } from '../../core/errors.ts'
import type { PaymentStatus } from './payments.ts'
import { next, type Transitions } from './transitions.ts'

export type PaymentRequestStatus = (typeof paymentRequestStatuses)[number]

/**
 * The events of a payment request. `begin` means that its payment is in review or at a bank. `reopen` means that this
 * payment ended before any money moved.
 */
export type PaymentRequestEvent = 'begin' | 'pay' | 'fail' | 'return' | 'reopen' | 'decline' | 'cancel' | 'expire'

/**
 * The transitions of a payment request (docs/service.md#payment-requests). Nobody can end a request while it is being
 * paid.
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

/** Returns the state of a request after an event. @throws 409 `conflict` if the table does not allow the event. */
export function nextRequestStatus(status: PaymentRequestStatus, event: PaymentRequestEvent): PaymentRequestStatus {
  const after = next<PaymentRequestStatus, PaymentRequestEvent>(paymentRequestTransitions, status, event)
  return after ?? fail('conflict', { detail: `The payment request is ${status}: ${statusReasons[status]}` })
}

/** The reason why a request in this status cannot change, and an alternative. */
const statusReasons: Readonly<Record<PaymentRequestStatus, string>> = {
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

/** Returns the event that a payment's status causes in its request; null if there is none. */
export function eventOfPayment(status: PaymentRequestStatus, payment: PaymentStatus): PaymentRequestEvent | null {
  const event = eventsOfPayment[payment]
  // The payment was approved and is now at the bank, so the request has already begun.
  return event === 'begin' && status === 'PROCESSING' ? null : event
}

/**
 * Refuses a second payment of a request. Two payments may start at the same time, on the page, with another credential
 * or in a simulation. This check detects the second payment, because the request is read again just before it is
 * written.
 * @throws 409 `conflict`.
 */
export function requireOnlyPayment(
  { status, paymentId }: { status: PaymentRequestStatus; paymentId: string | null },
  id: string,
): void {
  if (paymentId === null || paymentId === id) return
  fail('conflict', { detail: `The payment request is ${status}: ${statusReasons[status]}` })
}

/** How long a request can be paid. */
export const requestOpenMs = 30 * 24 * 60 * 60_000

interface Expiring {
  status: PaymentRequestStatus
  openUntilMs: number | null
  updatedAtMs: number
}

/**
 * Returns a payment request as it is at `nowMs`. It counts as expired once its time is over, even if the expiry is not
 * stored yet. Only the payer can meet an unstored expiry, because the requester's due effects are applied before each
 * of the requester's API requests.
 */
export function asOf<Row extends Expiring>(row: Row, nowMs: number): Row {
  const { openUntilMs } = row
  if (openUntilMs === null || openUntilMs > nowMs) return row
  return { ...row, status: nextRequestStatus(row.status, 'expire'), openUntilMs: null, updatedAtMs: openUntilMs }
}
