import { parseTimestamp, type System } from '../core/system.ts'
import { type Answer, tooLarge } from './send.ts'

const maximumAttempts = 4
/** The time limit for all attempts together, including the waits between them. */
const totalMs = 60_000
const firstDelayMs = 250
const longestDelayMs = 20_000

/**
 * The statuses with which the service or its proxy asks the client to retry later. Only 429 guarantees that nothing was
 * done.
 */
export const transientStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503])

export interface AttemptProgress {
  /** The number of the attempt that starts now or after `waitMs`; the first is 1. */
  attempt: number
  maximumAttempts: number
  /** Milliseconds until the attempt starts; 0 if it starts now. */
  waitMs: number
  /** The reason why the previous attempt failed. */
  reason: string | undefined
}

interface RetryOptions {
  /** Whether the request only reads, or the service recognizes a retry by the idempotency key. */
  repeatable: boolean
  attemptTimeoutMs: number
  system: System
  signal: AbortSignal | undefined
  onAttempt: (progress: AttemptProgress) => void
}

export interface Attempted {
  /** The answer to the last attempt. */
  answer: Answer
  attempts: number
  /** Whether an attempt before the last one may have been carried out. */
  earlierOutcomeUnknown: boolean
}

/** Runs `attempt`, and repeats it after transient failures: at most 4 attempts within 60 seconds. */
export async function withRetries(
  attempt: (timeoutMs: number) => Promise<Answer>,
  options: RetryOptions,
): Promise<Attempted> {
  const { system } = options
  const startedAt = system.elapsed()
  let reason: string | undefined
  let earlierOutcomeUnknown = false
  for (let attempts = 1; ; attempts++) {
    options.onAttempt({ attempt: attempts, maximumAttempts, waitMs: 0, reason })
    const leftMs = totalMs - (system.elapsed() - startedAt)
    const answer = await attempt(Math.ceil(Math.min(options.attemptTimeoutMs, leftMs)))
    reason = transientReason(answer, options.repeatable, earlierOutcomeUnknown)
    if (reason === undefined || attempts === maximumAttempts) return { answer, attempts, earlierOutcomeUnknown }
    earlierOutcomeUnknown ||= mayBeCarriedOut(answer)
    const waitMs = retryAfterMs(answer, system.now()) ?? backoffMs(attempts, system)
    if (system.elapsed() - startedAt + waitMs >= totalMs) return { answer, attempts, earlierOutcomeUnknown }
    options.onAttempt({ attempt: attempts + 1, maximumAttempts, waitMs, reason })
    await system.sleep(waitMs, options.signal)
  }
}

/** Returns whether a request with this outcome may have been carried out, or may still be carried out. */
export function mayBeCarriedOut(answer: Answer): boolean {
  if (answer.kind === 'answer') return answer.status !== 429
  return answer.kind === 'broken' && !answer.unreached
}

/** Returns the reason for a retry; undefined if a retry is not allowed or would not help. */
function transientReason(answer: Answer, repeatable: boolean, earlierOutcomeUnknown: boolean): string | undefined {
  if (answer.kind === 'unsent' || isTooLarge(answer)) return undefined
  if (answer.kind === 'broken') return repeatable ? answer.reason : undefined
  if (answer.status === 429) return 'status 429'
  if (!repeatable) return undefined
  if (transientStatuses.has(answer.status)) return `status ${answer.status}`
  // While an earlier attempt is still running, the service answers 409 to a request with the same key
  // (docs/service.md#idempotency-conflict). If the 409 is the operation's own answer, the next attempt gets the same
  // 409 as a replay, and no further attempt follows.
  if (answer.status === 409 && earlierOutcomeUnknown && !answer.replayed) return 'an earlier attempt is still running'
  return undefined
}

/** Returns whether the answer was too large. A retry does not help then. */
export function isTooLarge(answer: Answer): boolean {
  return answer.kind === 'broken' && answer.reason === tooLarge
}

/** The longest valid Retry-After. No payments API asks for a longer wait, so a longer one is ignored. */
const longestRetryAfterMs = 60 * 60_000

/**
 * Returns how long Retry-After asks the client to wait, in milliseconds; undefined if the header is missing or invalid.
 * The header states seconds or an HTTP date (RFC 9110, section 10.2.3).
 */
export function retryAfterMs(answer: Answer, nowMs: number): number | undefined {
  if (answer.kind !== 'answer' || answer.retryAfter === null) return undefined
  const text = answer.retryAfter.trim()
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : parseTimestamp(text) - nowMs
  return ms > 0 && ms <= longestRetryAfterMs ? ms : undefined
}

/**
 * Returns the delay before the next attempt: 0.25 s after the first attempt, doubled after each further one, and then
 * reduced by a random part of at most half. Without randomness, clients that failed at the same time would retry at the
 * same time.
 */
function backoffMs(attempts: number, system: System): number {
  const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1))
  const random = system.randomBytes(2).readUInt16BE() / 65_536
  return Math.round(delayMs * (0.5 + random / 2))
}
