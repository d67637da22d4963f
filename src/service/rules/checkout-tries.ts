import { Failure } from '../../core/errors.ts'

/**
 * Testing stolen cards takes many tries; a typo or an empty account takes few. After this many declined cards a
 * checkout waits, and after twice as many it is over.
 */
export const declinesBeforeWait = 10
export const mostDeclines = 2 * declinesBeforeWait
export const declinesWaitMs = 15 * 60_000

export const tooManyDeclines = 'Too many cards were declined.'

/** Returns the time until which a checkout takes no card after this many declines; null: it takes one at once. */
export function waitingUntilMs(declines: number, nowMs: number): number | null {
  return declines === declinesBeforeWait ? nowMs + declinesWaitMs : null
}

/** @throws 429 `rate_limited` before that moment. */
export function requireNotWaiting(untilMs: number | null | undefined, nowMs: number): void {
  if (untilMs === null || untilMs === undefined || untilMs <= nowMs) return
  throw tooManyTries(untilMs - nowMs)
}

export function tooManyTries(waitMs: number): Failure {
  const detail = `${tooManyDeclines} Try again in ${Math.ceil(waitMs / 60_000)} minutes, or ask the merchant for another way to pay.`
  return new Failure('rate_limited', { detail, retryAfterSeconds: Math.ceil(waitMs / 1000) })
}
