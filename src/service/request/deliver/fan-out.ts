import type { System } from '../../../core/system.ts'
import { wants } from '../../rules/webhooks.ts'
import { realNow } from '../../store/clock.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { lastEvent, nextEvents } from '../../store/events.ts'
import { insertDeliveries, newDelivery } from '../../store/webhook-deliveries.ts'
import { findWebhook, markTold, type WebhookKey } from '../../store/webhooks.ts'
import { eventIds } from '../../tokens/event-ids.ts'

/** At one time: what one transaction writes without keeping others waiting. */
const mostEvents = 200

/** Makes deliveries of the next events of a webhook's party, in their order. Gives whether there are more. */
export async function fanOut(tx: Transaction, system: System, key: WebhookKey): Promise<boolean> {
  const [webhook, last, ids, nowMs] = await Promise.all([
    findWebhook(tx, key),
    lastEvent(tx, key.partyId),
    eventIds(tx),
    realNow(tx),
  ])
  if (webhook === undefined || webhook.status === 'DISABLED' || last <= webhook.toldUpTo) return false
  const { partyId, toldUpTo: sequence } = webhook
  const events = await nextEvents(tx, { partyId, sequence, upTo: last, limit: mostEvents })
  // Old events are deleted, so that there can be fewer than numbers.
  const upTo = events.length < mostEvents ? last : (events.at(-1)?.sequence ?? last)
  const enabled = JSON.parse(webhook.enabledEvents) as string[]
  const wanted = events.filter(({ type }) => wants(enabled, type))
  await insertDeliveries(
    tx,
    wanted.map((event) => newDelivery(system, webhook, { event, eventId: ids.idOf(event), nowMs })),
  )
  await markTold(tx, { partyId, id: webhook.id, before: sequence, upTo, dueAtMs: wanted.length === 0 ? null : nowMs })
  return upTo < last
}
