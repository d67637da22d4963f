import { fail } from '../../core/errors.ts'
import { type CardBehavior, cardBehaviors } from './card-behaviors.ts'
import { maxDeclines, pausedUntilMs, requireNotPaused, tooManyDeclines } from './checkout-tries.ts'

type Outcome = (typeof cardBehaviors)[CardBehavior]['first' | 'retry']
export type CardDecline = Exclude<Outcome, 'approved'>

/** The number of cards that were declined for a payment request, and the pause that follows. */
export interface CardTries {
  declines: number
  /** The time until which no card is accepted. */
  waitsUntilMs: number | null
  /** The reason for the last decline. */
  last: CardDecline
}

/**
 * Tries a card for a payment request. Returns the new tries if the card is declined; null if it is charged. Some test
 * cards fail only the agreement on later payments. They are declined here too, although a single payment needs no
 * agreement.
 * @throws 409 `conflict` after too many declined cards; 429 `rate_limited` during the pause after half as many.
 */
export function tryCard(tries: CardTries | null, card: CardBehavior, nowMs: number): CardTries | null {
  if (!takesCards(tries)) {
    fail('conflict', { detail: `${tooManyDeclines} It can still be paid from a wallet.` })
  }
  requireNotPaused(tries?.waitsUntilMs, nowMs)
  const outcome: Outcome = cardBehaviors[card][tries === null ? 'first' : 'retry']
  if (outcome === 'approved') return null
  const declines = (tries?.declines ?? 0) + 1
  return { declines, waitsUntilMs: pausedUntilMs(declines, nowMs), last: outcome }
}

/** Returns whether any card may still be tried. */
export function takesCards(tries: CardTries | null): boolean {
  return tries === null || tries.declines < maxDeclines
}
