import type { deliveryStatuses } from '../../../tools/webhooks.ts'
import type { EventType } from './event-types.ts'

/**
 * How long a delivery that failed waits for its next attempt (docs/webhooks.md#attempts), in seconds of real time. With
 * the last of them two days are over.
 */
export const pauseSeconds = [
  5,
  5 * 60,
  30 * 60,
  2 * 3600,
  5 * 3600,
  10 * 3600,
  10 * 3600,
  10 * 3600,
  10 * 3600,
] as const

/** The outcome of one attempt. */
export interface Answer {
  /** Null: there was no answer. */
  status: number | null
  /** Why it does not count as delivered; null: it does. */
  error: string | null
}

type DeliveryStatus = (typeof deliveryStatuses)[number]

/** The state of a delivery after an attempt. */
interface Attempted {
  status: DeliveryStatus
  attempts: number
  dueAtMs: number | null
}

/** 410: the receiver wants no more of it, now or later. */
export const isGone = ({ status }: Answer) => status === 410

export function afterAttempt(attemptsBefore: number, answer: Answer, nowMs: number): Attempted {
  const attempts = attemptsBefore + 1
  if (answer.error === null) return { status: 'delivered', attempts, dueAtMs: null }
  const pause = isGone(answer) ? undefined : pauseSeconds[attemptsBefore]
  if (pause === undefined) return { status: 'failed', attempts, dueAtMs: null }
  return { status: 'pending', attempts, dueAtMs: nowMs + pause * 1000 }
}

/** A webhook at which nothing arrives for as long as one delivery is tried is not tried any more. */
const givesUpAfterMs = pauseSeconds.reduce((sum, pause) => sum + pause, 0) * 1000

/** The health of a webhook after consecutive attempts. */
export interface WebhookHealth {
  /** Since when nothing arrived; null: the last one did. */
  failingSinceMs: number | null
  /** It is not retried until it is enabled again. */
  isGivenUp: boolean
}

export function healthAfter(failingSinceMs: number | null, answer: Answer, nowMs: number): WebhookHealth {
  if (answer.error === null) return { failingSinceMs: null, isGivenUp: false }
  const sinceMs = failingSinceMs ?? nowMs
  return { failingSinceMs: sinceMs, isGivenUp: isGone(answer) || nowMs - sinceMs >= givesUpAfterMs }
}

const longestRestMs = 60_000

/** Nothing is sent before then to a webhook at which nothing arrives: the longer it fails, the less it is bothered. */
export function restUntilMs(failingSinceMs: number | null, nowMs: number): number {
  return failingSinceMs === null ? nowMs : nowMs + Math.min(longestRestMs, (nowMs - failingSinceMs) / 10)
}

/** All types but a test, which is for the webhook that it is of. */
export function wants(enabledEvents: readonly string[], type: EventType): boolean {
  return type !== 'webhook.test' && (enabledEvents.includes('*') || enabledEvents.includes(type))
}
