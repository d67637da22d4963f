import type { deliveryStatuses } from '../../../tools/webhooks.ts'
import type { EventType } from './event-types.ts'

/**
 * The pauses between the attempts of a delivery (docs/webhooks.md#attempts), in seconds of real time. They add up to two
 * days.
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
  /** Null if there was no answer. */
  status: number | null
  /** The reason why the event does not count as delivered; null if it does. */
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

/** How long all deliveries may fail before a webhook is disabled. It is as long as one delivery is retried. */
const disabledAfterMs = pauseSeconds.reduce((sum, pause) => sum + pause, 0) * 1000

/** The health of a webhook after consecutive attempts. */
export interface WebhookHealth {
  /** The time since which all attempts have failed; null if the last attempt succeeded. */
  failingSinceMs: number | null
  /** Whether the webhook is disabled until someone enables it again. */
  mustBeDisabled: boolean
}

export function healthAfter(failingSinceMs: number | null, answer: Answer, nowMs: number): WebhookHealth {
  if (answer.error === null) return { failingSinceMs: null, mustBeDisabled: false }
  const sinceMs = failingSinceMs ?? nowMs
  return { failingSinceMs: sinceMs, mustBeDisabled: isGone(answer) || nowMs - sinceMs >= disabledAfterMs }
}

const longestRestMs = 60_000

/**
 * Returns the end of a failing webhook's pause, during which nothing is sent to it. The longer it has been failing, the
 * longer the pause.
 */
export function restUntilMs(failingSinceMs: number | null, nowMs: number): number {
  return failingSinceMs === null ? nowMs : nowMs + Math.min(longestRestMs, (nowMs - failingSinceMs) / 10)
}

/**
 * Returns whether a webhook subscribes to a type. Nobody subscribes to test events, because they go only to the tested
 * webhook.
 */
export function wants(enabledEvents: readonly string[], type: EventType): boolean {
  return type !== 'webhook.test' && (enabledEvents.includes('*') || enabledEvents.includes(type))
}
