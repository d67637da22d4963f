import type { subscriptionStatuses } from '../../../tools/subscriptions.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { type AttentionReason, type CardBehavior, cardBehaviors } from './card-behaviors.ts'
import { maxDeclines, pausedUntilMs, requireNotPaused } from './checkout-tries.ts'
import {
  attemptOffsetsMs,
  dueAtMs,
  lastPaymentNumber,
  type PaymentAmount,
  paymentAmount,
  type Terms,
  windowMs,
} from './subscription-terms.ts'

export type SubscriptionStatus = (typeof subscriptionStatuses)[number]

/** The statuses in which each command is allowed, not refused with 409 (docs/service.md#subscription-status). */
export const statesAllowing = {
  checkout: ['pending'],
  cancel: ['pending', 'active', 'past_due', 'needs_attention', 'canceled'],
  resume: ['needs_attention'],
  mark_paid: ['active', 'past_due', 'needs_attention'],
  change_card: ['active', 'past_due', 'needs_attention'],
} as const satisfies Record<string, readonly SubscriptionStatus[]>

/** The billing state of a subscription, as an immutable value. Times are in ms. */
export interface Billing {
  status: SubscriptionStatus
  /** The time when the unpaid checkout expires; null if the checkout never expires or has already ended. */
  checkoutExpiresAtMs: number | null
  /** How often a card was declined for payment 1. */
  checkoutDeclines: number
  /** The end of the pause after too many declines. Until then, the checkout accepts no card. */
  checkoutWaitsUntilMs?: number | null
  /** The time when payment 1 was paid. The due dates of all other payments depend on it. */
  anchorMs: number | null
  /** The behaviors of the card. Each applies from its payment number on, until the next one replaces it. */
  card: readonly { fromPaymentNumber: number; behavior: CardBehavior }[]
  /** The number of the first payment that is neither paid, missed nor marked paid. */
  current: number
  /** How many attempts the current payment has had. */
  attempts: number
  /** The time of the current payment's next attempt; null if there is none. Ignored in the status `needs_attention`. */
  nextAttemptAtMs: number | null
  missed: readonly number[]
  attention: { reason: AttentionReason; sinceMs: number } | null
  /** The SHA-256 hash of a random value that identifies the browser in which payment 1 was paid. */
  payer?: string | null
  updatedAtMs: number
}

export interface Charge extends PaymentAmount {
  paymentNumber: number
  atMs: number
}

/** The billing state after a change, and the payments that succeeded during the change. */
export interface Billed {
  billing: Billing
  charges: readonly Charge[]
}

export function startBilling(nowMs: number, checkoutExpiresAtMs: number | null): Billing {
  return {
    status: 'pending',
    checkoutExpiresAtMs,
    checkoutDeclines: 0,
    anchorMs: null,
    card: [],
    current: 1,
    attempts: 0,
    nextAttemptAtMs: null,
    missed: [],
    attention: null,
    updatedAtMs: nowMs,
  }
}

/** Returns the time of the subscription's next event; null if there is none. */
export function nextEventAtMs(terms: Terms, billing: Billing): number | null {
  if (billing.status === 'pending') return billing.checkoutExpiresAtMs
  if (billing.status !== 'needs_attention') return billing.nextAttemptAtMs
  // Even while collection is stopped, the current payment is marked as missed once it can no longer be charged.
  const dueMs = currentDueAtMs(terms, billing)
  return dueMs === null ? null : dueMs + windowMs
}

/**
 * Applies a subscription's due events in time order, so that moving the clock once by a month has the same result as
 * moving it day by day. Stops after `maxEvents` events, even if the next event is already due.
 */
export function billUntil(
  terms: Terms,
  start: Billing,
  untilMs: number,
  maxEvents = Number.POSITIVE_INFINITY,
): Billed & { events: number } {
  const charges: Charge[] = []
  let [billing, events] = [start, 0]
  for (let atMs = nextEventAtMs(terms, billing); atMs !== null && atMs <= untilMs && events < maxEvents; events++) {
    const step = applyEvent(terms, billing, atMs)
    billing = { ...step.billing, updatedAtMs: atMs }
    charges.push(...step.charges)
    atMs = nextEventAtMs(terms, billing)
  }
  return { billing, charges, events }
}

/** Tries to pay payment 1 in checkout. @throws 409 if checkout has ended, 429 during the pause after many declines. */
export function payInCheckout(
  terms: Terms,
  billing: Billing,
  card: CardBehavior,
  nowMs: number,
): Billed & { result: 'paid' | 'declined' | 'agreement_failed' } {
  requirePossible(billing, 'checkout')
  requireNotPaused(billing.checkoutWaitsUntilMs, nowMs)
  const outcome = cardBehaviors[card][billing.checkoutDeclines === 0 ? 'first' : 'retry']
  if (outcome === 'agreement_ended')
    return { billing: cancelBilling(billing, nowMs), charges: [], result: 'agreement_failed' }
  if (outcome !== 'approved') {
    const checkoutDeclines = billing.checkoutDeclines + 1
    const checkoutWaitsUntilMs = pausedUntilMs(checkoutDeclines, nowMs)
    const after = { ...billing, checkoutDeclines, checkoutWaitsUntilMs, updatedAtMs: nowMs }
    const isOver = checkoutDeclines >= maxDeclines
    return { billing: isOver ? cancelBilling(after, nowMs) : after, charges: [], result: 'declined' }
  }
  const charge = { paymentNumber: 1, atMs: nowMs, ...paymentAmount(terms, 1) }
  const active: Billing = {
    ...billing,
    status: 'active',
    checkoutExpiresAtMs: null,
    anchorMs: nowMs,
    card: [{ fromPaymentNumber: 1, behavior: card }],
    updatedAtMs: nowMs,
  }
  return { billing: moveToNextPayment(terms, active), charges: [charge], result: 'paid' }
}

/** Cancels a subscription for good. Canceling it again changes nothing. @throws 409 if it is completed. */
export function cancel(billing: Billing, nowMs: number): Billing {
  if (billing.status === 'canceled') return billing
  requirePossible(billing, 'cancel')
  return cancelBilling(billing, nowMs)
}

/** Resumes collection, and attempts the current payment if due. @throws 409 if the status is not `needs_attention`. */
export function resume(terms: Terms, billing: Billing, nowMs: number): Billed {
  requirePossible(billing, 'resume')
  const dueMs = currentDueAtMs(terms, billing)
  const collecting: Billing = {
    ...billing,
    status: billing.missed.length > 0 ? 'past_due' : 'active',
    attention: null,
    nextAttemptAtMs: dueMs === null ? null : Math.max(dueMs, nowMs),
    updatedAtMs: nowMs,
  }
  return billUntil(terms, completeWhenOver(terms, collecting), nowMs)
}

/**
 * Records that a payment was paid in another way. @throws 404 if there is no such payment; 409 if the payment is
 * already paid or comes after the next one, or if the status does not allow the change.
 */
export function markPaid(terms: Terms, billing: Billing, paymentNumber: number, nowMs: number): Billing {
  if (paymentNumber > lastPaymentNumber(terms)) fail('not_found', { detail: `There is no payment ${paymentNumber}.` })
  requirePossible(billing, 'mark_paid')
  if (billing.missed.includes(paymentNumber)) {
    const missed = billing.missed.filter((number) => number !== paymentNumber)
    const status = billing.status === 'past_due' && missed.length === 0 ? 'active' : billing.status
    return completeWhenOver(terms, { ...billing, missed, status, updatedAtMs: nowMs })
  }
  if (paymentNumber !== billing.current) {
    const problem = paymentNumber < billing.current ? 'is already paid' : 'is not the next one'
    fail('conflict', {
      detail: `Payment ${paymentNumber} ${problem}: only missed payments and the next one can be marked paid.`,
    })
  }
  return { ...moveToNextPayment(terms, billing), updatedAtMs: nowMs }
}

/** Changes the card's behavior from payment n on. @throws 409 in a wrong status, 422 if n is less than `current`. */
export function changeCard(
  billing: Billing,
  behavior: CardBehavior,
  fromPaymentNumber: number | undefined,
  nowMs: number,
): Billing {
  requirePossible(billing, 'change_card')
  const from = fromPaymentNumber ?? billing.current
  if (from < billing.current) {
    failAttribute(
      'fromPaymentNumber',
      `fromPaymentNumber must be at least ${billing.current}, the number of the next payment, got ${from}.`,
      { minimum: billing.current },
    )
  }
  const card = [
    ...billing.card.filter((entry) => entry.fromPaymentNumber < from),
    { fromPaymentNumber: from, behavior },
  ]
  return { ...billing, card, updatedAtMs: nowMs }
}

export function hasEnded(status: string): boolean {
  return status === 'canceled' || status === 'completed'
}

/** Returns the next payment to charge, even while collection is stopped; null if no payment is left. */
export function nextPayment(
  terms: Terms,
  billing: Billing,
): (PaymentAmount & { paymentNumber: number; dueMs: number | null }) | null {
  const { status, current } = billing
  if (hasEnded(status) || current > lastPaymentNumber(terms)) return null
  return { paymentNumber: current, dueMs: currentDueAtMs(terms, billing), ...paymentAmount(terms, current) }
}

function requirePossible({ status }: Billing, command: keyof typeof statesAllowing): void {
  const states: readonly SubscriptionStatus[] = statesAllowing[command]
  if (states.includes(status)) return
  const action = command.replace('_', ' ')
  fail('conflict', {
    detail: `A subscription that is ${status} does not allow ${action}: its status must be ${states.join(' or ')}.`,
  })
}

function applyEvent(terms: Terms, billing: Billing, atMs: number): Billed {
  if (billing.status === 'pending') return { billing: cancelBilling(billing, atMs), charges: [] }
  if (billing.status === 'needs_attention') return { billing: skipPayment(billing), charges: [] }
  const { current, attempts } = billing
  const outcome = cardBehaviors[behaviorAt(billing, current)][attempts === 0 ? 'first' : 'retry']
  if (outcome === 'approved') {
    const charge = { paymentNumber: current, atMs, ...paymentAmount(terms, current) }
    return { billing: moveToNextPayment(terms, billing), charges: [charge] }
  }
  if (outcome === 'agreement_ended') return { billing: cancelBilling(billing, atMs), charges: [] }
  const tried = { ...billing, attempts: attempts + 1 }
  if (outcome !== 'declined' && outcome !== 'not_processed') return { billing: stop(tried, outcome, atMs), charges: [] }
  const retryAtMs = nextRetryAtMs(terms, billing, atMs)
  if (retryAtMs !== undefined) return { billing: { ...tried, nextAttemptAtMs: retryAtMs }, charges: [] }
  return { billing: missPayment(terms, billing, outcome, atMs), charges: [] }
}

/** Marks the current payment as missed after its last attempt. Two missed payments in a row stop collection. */
function missPayment(terms: Terms, billing: Billing, outcome: 'declined' | 'not_processed', atMs: number): Billing {
  const inARow = billing.missed.includes(billing.current - 1)
  const missed = {
    ...moveToNextPayment(terms, { ...billing, missed: [...billing.missed, billing.current], status: 'past_due' }),
  }
  return inARow ? stop(missed, outcome === 'declined' ? 'missed_twice' : 'not_charged', atMs) : missed
}

function stop(billing: Billing, reason: AttentionReason, atMs: number): Billing {
  return { ...billing, status: 'needs_attention', attention: { reason, sinceMs: atMs }, nextAttemptAtMs: null }
}

/** Marks the current payment as missed, because the time to charge it ended while collection was stopped. */
function skipPayment(billing: Billing): Billing {
  return { ...billing, missed: [...billing.missed, billing.current], current: billing.current + 1, attempts: 0 }
}

function moveToNextPayment(terms: Terms, billing: Billing): Billing {
  const next = { ...billing, current: billing.current + 1, attempts: 0 }
  return completeWhenOver(terms, { ...next, nextAttemptAtMs: currentDueAtMs(terms, next) })
}

function completeWhenOver(terms: Terms, billing: Billing): Billing {
  const over = billing.current > lastPaymentNumber(terms) && billing.missed.length === 0
  return over && billing.status !== 'needs_attention'
    ? { ...billing, status: 'completed', nextAttemptAtMs: null }
    : billing
}

function cancelBilling(billing: Billing, atMs: number): Billing {
  return {
    ...billing,
    status: 'canceled',
    checkoutExpiresAtMs: null,
    nextAttemptAtMs: null,
    attention: null,
    updatedAtMs: atMs,
  }
}

function currentDueAtMs(terms: Terms, { anchorMs, current }: Billing): number | null {
  return anchorMs === null || current > lastPaymentNumber(terms) ? null : dueAtMs(terms, anchorMs, current)
}

function nextRetryAtMs(terms: Terms, billing: Billing, atMs: number): number | undefined {
  const dueMs = currentDueAtMs(terms, billing)
  if (dueMs === null) throw new Error('Bug: a payment without a due day was attempted.')
  return attemptOffsetsMs.map((offsetMs) => dueMs + offsetMs).find((candidateMs) => candidateMs > atMs)
}

function behaviorAt(billing: Billing, paymentNumber: number): CardBehavior {
  const entry = billing.card.findLast(({ fromPaymentNumber }) => fromPaymentNumber <= paymentNumber)
  if (entry === undefined) throw new Error('Bug: a payment was attempted without a card.')
  return entry.behavior
}
