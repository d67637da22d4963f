import { maxWebhooks } from '../../../../tools/webhooks.ts'
import { fail } from '../../../core/errors.ts'
import type { Context } from '../../request/handler.ts'
import { wants } from '../../rules/webhooks.ts'
import { realNow } from '../../store/clock.ts'
import type { EventRow } from '../../store/schema/events.ts'
import type { WebhookRow } from '../../store/schema/webhooks.ts'
import { insertDeliveries, newDelivery } from '../../store/webhook-deliveries.ts'
import { listWebhooks, makeDue } from '../../store/webhooks.ts'
import { eventIds } from '../../tokens/event-ids.ts'

type Sending = Pick<Context, 'tx' | 'system'>

/** Queues an event for delivery to the given webhooks, even to those that have already received the event. */
export async function sendTo({ tx, system }: Sending, event: EventRow, webhooks: readonly WebhookRow[]): Promise<void> {
  const [ids, nowMs] = await Promise.all([eventIds(tx), realNow(tx)])
  const eventId = ids.idOf(event)
  await insertDeliveries(
    tx,
    webhooks.map((webhook) => newDelivery(system, webhook, { event, eventId, nowMs })),
  )
  for (const { partyId, id } of webhooks) await makeDue(tx, { partyId, id, nowMs })
}

/**
 * Sends an event again to every enabled webhook that subscribes to the event's type. A test event goes only to the
 * webhook that it tests.
 * @throws 409 `conflict` if no enabled webhook would receive the event.
 */
export async function sendAgain(sending: Sending, event: EventRow): Promise<void> {
  const scope = { partyId: event.partyId, status: 'ENABLED' } as const
  const { rows } = await listWebhooks(sending.tx, scope, { limit: maxWebhooks, beforeId: null })
  const subscribers = rows.filter(({ id, enabledEvents }) => {
    return event.type === 'webhook.test'
      ? id === event.resourceId
      : wants(JSON.parse(enabledEvents) as string[], event.type)
  })
  if (subscribers.length === 0) {
    const detail = `No ENABLED webhook subscribes to ${event.type}. Create one with create_webhook, or change an existing webhook with update_webhook.`
    fail('conflict', { detail })
  }
  await sendTo(sending, event, subscribers)
}
