import { Failure } from '../../core/errors.ts'

/**
 * The number of declined cards after which a checkout pauses. After twice as many, it takes no more cards. Testing
 * stolen cards takes many tries, while a typo or an empty account takes only a few.
 */
export const declinesBeforePause = 10
export const maxDeclines = 2 * declinesBeforePause
export const declinesPauseMs = 15 * 60_000

export const tooManyDeclines = 'Too many cards were declined.'

/** Returns the end of the pause that begins with this decline; null if this decline begins no pause. */
export function pausedUntilMs(declines: number, nowMs: number): number | null {
  return declines === declinesBeforePause ? nowMs + declinesPauseMs : null
}

/** Refuses cards during the pause. @throws 429 `rate_limited`. */
export function requireNotPaused(untilMs: number | null | undefined, nowMs: number): void {
  if (untilMs === null || untilMs === undefined || untilMs <= nowMs) return
  // A request may have read its time just before another process began the pause.
  throw tooManyTries(Math.min(untilMs - nowMs, declinesPauseMs))
}

export function tooManyTries(waitMs: number): Failure {
  const detail = `${tooManyDeclines} Try again in ${Math.ceil(waitMs / 60_000)} minutes, or ask the merchant for another way to pay.`
  return new Failure('rate_limited', { detail, retryAfterSeconds: Math.ceil(waitMs / 1000) })
}
