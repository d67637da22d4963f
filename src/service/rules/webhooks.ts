import type { deliveryStatuses } from '../../../tools/webhooks.ts'
import type { EventType } from './event-types.ts'

/**
 * The pauses between the attempts of a delivery (docs/webhooks.md#attempts), in seconds on the real clock, not the
 * sandbox clock. They add up to about two days.
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

/** The receiver's answer to one attempt of a delivery. */
export interface Answer {
  /** The HTTP status; null if the receiver did not answer. */
  status: number | null
  /** The reason why the attempt failed; null if the event was delivered. */
  error: string | null
}

type DeliveryStatus = (typeof deliveryStatuses)[number]

/** The state of a delivery after an attempt. */
interface DeliveryState {
  status: DeliveryStatus
  attempts: number
  dueAtMs: number | null
}

/** Returns whether the receiver answered 410, which means that it wants no more events. */
export const isGone = ({ status }: Answer) => status === 410

export function afterAttempt(attemptsBefore: number, answer: Answer, nowMs: number): DeliveryState {
  const attempts = attemptsBefore + 1
  if (answer.error === null) return { status: 'delivered', attempts, dueAtMs: null }
  const pause = isGone(answer) ? undefined : pauseSeconds[attemptsBefore]
  if (pause === undefined) return { status: 'failed', attempts, dueAtMs: null }
  return { status: 'pending', attempts, dueAtMs: nowMs + pause * 1000 }
}

/** How long attempts may keep failing before the webhook is disabled: as long as all retries of one delivery take. */
const disabledAfterMs = pauseSeconds.reduce((sum, pause) => sum + pause, 0) * 1000

/** The health of a webhook after an attempt. */
export interface WebhookHealth {
  /** The time since which all attempts have failed; null if the last attempt succeeded. */
  failingSinceMs: number | null
  /** Whether the webhook must be disabled now. It then stays disabled until someone enables it. */
  mustBeDisabled: boolean
}

export function healthAfter(failingSinceMs: number | null, answer: Answer, nowMs: number): WebhookHealth {
  if (answer.error === null) return { failingSinceMs: null, mustBeDisabled: false }
  const sinceMs = failingSinceMs ?? nowMs
  return { failingSinceMs: sinceMs, mustBeDisabled: isGone(answer) || nowMs - sinceMs >= disabledAfterMs }
}

const longestRestMs = 60_000

/**
 * Returns the time until which nothing is sent to a webhook. The longer the webhook has been failing, the longer the
 * pause. If its last attempt succeeded, there is no pause.
 */
export function restUntilMs(failingSinceMs: number | null, nowMs: number): number {
  return failingSinceMs === null ? nowMs : nowMs + Math.min(longestRestMs, (nowMs - failingSinceMs) / 10)
}

/**
 * Returns whether a webhook subscribes to an event type. Test events need no subscription, so the result for them is
 * false: each is sent only to the webhook that is tested.
 */
export function wants(enabledEvents: readonly string[], type: EventType): boolean {
  return type !== 'webhook.test' && (enabledEvents.includes('*') || enabledEvents.includes(type))
}
