import type { System } from '../../../core/system.ts'
import { wants } from '../../rules/webhooks.ts'
import { realNow } from '../../store/clock.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { lastEventNumber, nextEvents } from '../../store/events.ts'
import { insertDeliveries, newDelivery } from '../../store/webhook-deliveries.ts'
import { findWebhook, markProcessed, type WebhookKey } from '../../store/webhooks.ts'
import { eventIds } from '../../tokens/event-ids.ts'

/** The maximum number of events in one transaction. It is low, so that other transactions do not wait long. */
const maxEvents = 200

/**
 * Creates a webhook's deliveries for the party's next events, in the order of the events. Returns whether more events
 * remain.
 */
export async function fanOut(tx: Transaction, system: System, key: WebhookKey): Promise<boolean> {
  const [webhook, last, ids, nowMs] = await Promise.all([
    findWebhook(tx, key),
    lastEventNumber(tx, key.partyId),
    eventIds(tx),
    realNow(tx),
  ])
  if (webhook === undefined || webhook.status === 'DISABLED' || last <= webhook.toldUpTo) return false
  const { partyId, toldUpTo: sequence } = webhook
  const events = await nextEvents(tx, { partyId, sequence, upTo: last, limit: maxEvents })
  // Old events are deleted, so the event with the last sequence number may no longer exist. If fewer events than the
  // limit were found, there are no more, so all numbers up to the last one count as processed.
  const upTo = events.length < maxEvents ? last : (events.at(-1)?.sequence ?? last)
  const enabled = JSON.parse(webhook.enabledEvents) as string[]
  const subscribed = events.filter(({ type }) => wants(enabled, type))
  await insertDeliveries(
    tx,
    subscribed.map((event) => newDelivery(system, webhook, { event, eventId: ids.idOf(event), nowMs })),
  )
  await markProcessed(tx, {
    partyId,
    id: webhook.id,
    before: sequence,
    upTo,
    dueAtMs: subscribed.length === 0 ? null : nowMs,
  })
  return upTo < last
}
