import { fail } from '../../core/errors.ts'
import { type CardBehavior, cardBehaviors } from './card-behaviors.ts'
import { maxDeclines, pausedUntilMs, requireNotPaused, tooManyDeclines } from './checkout-tries.ts'

type Outcome = (typeof cardBehaviors)[CardBehavior]['first' | 'retry']
export type CardDecline = Exclude<Outcome, 'approved'>

/** The declined attempts to pay a payment request by card, and the pause before further attempts. */
export interface CardTries {
  declines: number
  /** The end of the pause, during which no card is accepted; null if the last decline began no pause. */
  waitsUntilMs: number | null
  /** The reason for the last decline. */
  last: CardDecline
}

/**
 * Returns the updated tries if the card is declined for a payment request; null if the card can be charged. The card
 * with the behavior `agreement_fails` is declined too, although a single payment needs no agreement to later payments.
 * @throws 409 `conflict` after `maxDeclines` declines; 429 `rate_limited` during the pause after half as many declines.
 */
export function tryCard(tries: CardTries | null, card: CardBehavior, nowMs: number): CardTries | null {
  if (!takesCards(tries)) {
    fail('conflict', { detail: `${tooManyDeclines} The request can still be paid from a wallet.` })
  }
  requireNotPaused(tries?.waitsUntilMs, nowMs)
  const outcome: Outcome = cardBehaviors[card][tries === null ? 'first' : 'retry']
  if (outcome === 'approved') return null
  const declines = (tries?.declines ?? 0) + 1
  return { declines, waitsUntilMs: pausedUntilMs(declines, nowMs), last: outcome }
}

/** Returns whether the payer may still try cards, now or after the pause. */
export function takesCards(tries: CardTries | null): boolean {
  return tries === null || tries.declines < maxDeclines
}
