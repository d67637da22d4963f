import type { Logger } from '../../../config/log.ts'
import { signedHeaders } from '../../../core/standard-webhooks.ts'
import { type System, timestamp } from '../../../core/system.ts'
import {
  type Answer,
  afterAttempt,
  healthAfter,
  isGone,
  restUntilMs,
  type WebhookHealth,
} from '../../rules/webhooks.ts'
import { readTimes, realNow } from '../../store/clock.ts'
import type { Store, Transaction } from '../../store/engine/store.ts'
import { recordEvents } from '../../store/events.ts'
import type { WebhookDeliveryRow } from '../../store/schema/webhook-deliveries.ts'
import type { WebhookRow } from '../../store/schema/webhooks.ts'
import { dueDeliveries, saveAttempt } from '../../store/webhook-deliveries.ts'
import { changeWebhook, endTurn, findWebhook, type WebhookKey } from '../../store/webhooks.ts'
import { webhookSecrets } from '../../tokens/webhook-secrets.ts'
import type { Send } from './sender.ts'

/**
 * Builds the message bodies for events. The result maps each event's sequence number to its body. Deleted events are
 * omitted.
 */
export type Bodies = (tx: Transaction, partyId: string, sequences: readonly number[]) => Promise<Map<number, string>>

export interface TurnDependencies {
  store: Store
  system: System
  log: Pick<Logger, 'warn'>
  send: Send
  bodies: Bodies
  /** Whether webhook URLs are allowed to lead to this machine. */
  mayStayHere: () => boolean
}

/** The maximum number of deliveries in a turn. */
const maxPerTurn = 50
/** The time after which a turn begins no further delivery. */
const turnMs = 1_000
/**
 * The number of failures in a row after which a turn ends, if the webhook was not already failing. One failure is not
 * enough, because a working receiver may fail occasionally.
 */
const maxConsecutiveFailures = 5

interface Loaded {
  webhook: WebhookRow
  deliveries: WebhookDeliveryRow[]
  bodies: Map<number, string>
  secrets: string[]
}

/** The outcome of one attempt. */
interface Attempt {
  delivery: WebhookDeliveryRow
  answer: Answer
}

/** Sends due deliveries of one webhook in the order of the events, and stores the outcomes of the deliveries. */
export async function takeTurn(dependencies: TurnDependencies, key: WebhookKey, ending: AbortSignal): Promise<void> {
  const loaded = await dependencies.store.transaction((tx) => load(dependencies, tx, key))
  if (loaded === undefined) return
  const attempts: Attempt[] = []
  const startedAtMs = dependencies.system.elapsed()
  // If the webhook was already failing, a single failure ends the turn, because it shows that the webhook still fails.
  let failuresLeft = loaded.webhook.failingSinceMs === null ? maxConsecutiveFailures : 1
  for (const delivery of loaded.deliveries) {
    if (ending.aborted) break
    const answer = await attempt(dependencies, loaded, delivery, ending)
    // The shutdown interrupted this attempt, so the message may not have arrived. The message is sent again later.
    if (answer === undefined) break
    attempts.push({ delivery, answer })
    failuresLeft = answer.error === null ? maxConsecutiveFailures : failuresLeft - 1
    if (failuresLeft === 0 || isGone(answer) || dependencies.system.elapsed() - startedAtMs >= turnMs) break
  }
  await dependencies.store.transaction((tx) => storeOutcomes(dependencies, tx, key, attempts))
}

async function load({ bodies }: TurnDependencies, tx: Transaction, key: WebhookKey): Promise<Loaded | undefined> {
  const { partyId, id: webhookId } = key
  const nowMs = await realNow(tx)
  const [webhook, deliveries, secrets] = await Promise.all([
    findWebhook(tx, key),
    dueDeliveries(tx, { partyId, webhookId, nowMs, limit: maxPerTurn }),
    webhookSecrets(tx),
  ])
  if (webhook === undefined || webhook.status === 'DISABLED') return undefined
  const sequences = [...new Set(deliveries.map(({ eventSequence }) => eventSequence))]
  const bodyBySequence = await bodies(tx, partyId, sequences)
  return { webhook, deliveries, bodies: bodyBySequence, secrets: await secrets.signing(webhook, nowMs) }
}

async function attempt(
  { send, store, mayStayHere }: TurnDependencies,
  { webhook, bodies, secrets }: Loaded,
  { eventSequence, eventId: id }: WebhookDeliveryRow,
  ending: AbortSignal,
): Promise<Answer | undefined> {
  const body = bodies.get(eventSequence)
  if (body === undefined) return { status: null, error: 'The event is no longer stored.' }
  const headers = signedHeaders({ id, body }, secrets, store.clock.lastMs)
  try {
    return await send({ url: webhook.url, headers, body, mayStayHere: mayStayHere() }, ending)
  } catch {
    return undefined
  }
}

async function storeOutcomes(
  { log }: Pick<TurnDependencies, 'log'>,
  tx: Transaction,
  key: WebhookKey,
  attempts: readonly Attempt[],
): Promise<void> {
  const { realNowMs, nowMs } = await readTimes(tx)
  const webhook = await findWebhook(tx, key)
  if (webhook === undefined) return
  let health: WebhookHealth = { failingSinceMs: webhook.failingSinceMs, mustBeDisabled: false }
  for (const { delivery, answer } of attempts) {
    const after = afterAttempt(delivery.attempts, answer, realNowMs)
    const { partyId, id } = delivery
    const { status: lastResponseStatus, error: lastError } = answer
    await saveAttempt(tx, { partyId, id, ...after, lastResponseStatus, lastError, updatedAtMs: realNowMs })
    health = healthAfter(health.failingSinceMs, answer, realNowMs)
  }
  const { failingSinceMs, mustBeDisabled } = health
  await endTurn(tx, { ...key, failingSinceMs, restUntilMs: restUntilMs(failingSinceMs, realNowMs) })
  if (!mustBeDisabled || webhook.status === 'DISABLED') return
  const disabled = await changeWebhook(tx, webhook, { status: 'DISABLED', nextDueAtMs: null, updatedAtMs: nowMs })
  recordEvents(tx, { ...disabled, agentId: null }, ['webhook.disabled'], nowMs)
  const failingSince = timestamp(failingSinceMs ?? realNowMs)
  log.warn({ webhookId: webhook.id, partyId: webhook.partyId, failingSince }, 'a webhook was disabled')
}
