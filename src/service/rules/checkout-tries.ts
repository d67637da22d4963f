import { Failure } from '../../core/errors.ts'

/**
 * The number of declined cards after which a checkout pauses. After twice as many declined cards, the checkout takes no
 * more cards. Testing stolen cards causes many declines; a typo or an empty account causes only a few.
 */
export const declinesBeforePause = 10
export const maxDeclines = 2 * declinesBeforePause
export const declinesPauseMs = 15 * 60_000

export const tooManyDeclines = 'Too many cards were declined.'

/**
 * Returns the end of the pause that the latest decline begins; null if it begins no pause.
 * @param declines The number of declines, including the latest.
 */
export function pausedUntilMs(declines: number, nowMs: number): number | null {
  return declines === declinesBeforePause ? nowMs + declinesPauseMs : null
}

/** Refuses a card while the checkout is paused. @throws 429 `rate_limited`. */
export function requireNotPaused(untilMs: number | null | undefined, nowMs: number): void {
  if (untilMs === null || untilMs === undefined || untilMs <= nowMs) return
  // The wait is at most one pause, even if another process began the pause after this request had read the time.
  throw tooManyTries(Math.min(untilMs - nowMs, declinesPauseMs))
}

export function tooManyTries(waitMs: number): Failure {
  const detail = `${tooManyDeclines} Try again in ${Math.ceil(waitMs / 60_000)} minutes, or ask the merchant for another way to pay.`
  return new Failure('rate_limited', { detail, retryAfterSeconds: Math.ceil(waitMs / 1000) })
}
