import type { z } from 'zod'
import { maxWebhooks, type WebhookDelivery, type webhooks } from '../../../tools/webhooks.ts'
import { fail } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { eventKinds, eventTypes, wordOf } from '../rules/event-types.ts'
import { mergedTags } from '../rules/tags.ts'
import { wants } from '../rules/webhooks.ts'
import { realNow } from '../store/clock.ts'
import { lastEventNumber, recordEventNow } from '../store/events.ts'
import type { WebhookDeliveryRow } from '../store/schema/webhook-deliveries.ts'
import type { WebhookRow } from '../store/schema/webhooks.ts'
import { listDeliveries } from '../store/webhook-deliveries.ts'
import { changeWebhook, deleteWebhook, findWebhook, insertWebhook, listWebhooks } from '../store/webhooks.ts'
import { webhookSecrets } from '../tokens/webhook-secrets.ts'
import { eventViews } from './steps/event-views.ts'
import { sendTo } from './steps/send-event.ts'
import { enabledTypes, webhookUrl } from './steps/webhook-target.ts'
import { webhookView } from './steps/webhook-view.ts'

export const webhookHandlers = {
  createWebhook: async (input, context) => {
    const { tx, system, partyId, nowMs } = context
    const { description = null, tags = {} } = input
    const url = webhookUrl(input.url, context)
    const enabledEvents = JSON.stringify(enabledTypes(input.enabledEvents))
    requireMayReceive(context, enabledEvents, { pointer: enabledEventsPointer })
    await tx.lockParty(partyId)
    const { lastId } = await listWebhooks(tx, { partyId }, { limit: maxWebhooks - 1, beforeId: null })
    if (lastId !== null) {
      const detail = `There are already ${maxWebhooks} webhooks, which is the maximum. Delete one with delete_webhook, or subscribe an existing one to more events with update_webhook.`
      fail('conflict', { detail })
    }
    const secrets = await webhookSecrets(tx)
    const row: WebhookRow = {
      id: newId('whk', system, nowMs),
      partyId,
      url,
      description,
      status: 'ENABLED',
      enabledEvents,
      tags: JSON.stringify(tags),
      secretNumber: 1,
      secretKeyId: secrets.newestKeyId,
      previousKeyId: null,
      previousSecretUntilMs: null,
      toldUpTo: await lastEventNumber(tx, partyId),
      failingSinceMs: null,
      nextDueAtMs: null,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    await insertWebhook(tx, row)
    const { attributes, ...view } = webhookView(row)
    return { ...view, attributes: { ...attributes, signingSecret: secrets.current(row) } }
  },

  listWebhooks: async (input, { tx, partyId }) => {
    const scope = { partyId, status: input.status }
    const list = { list: 'webhooks', ...scope }
    return page(await listWebhooks(tx, scope, pageRequest(input, list)), list, webhookView)
  },

  getWebhook: async ({ webhookId }, context) => webhookView(await loadWebhook(context, webhookId)),

  /**
   * Updates a webhook. If the update enables a disabled webhook, the deliveries that are still queued are sent. Events
   * that occurred while the webhook was disabled were not queued, so they are not sent.
   */
  updateWebhook: async ({ webhookId, url, description, enabledEvents, tags, status }, context) => {
    const { tx, nowMs } = context
    const before = await loadWebhook(context, webhookId)
    const isEnabled = status === 'ENABLED' && before.status === 'DISABLED'
    const restart = isEnabled && {
      toldUpTo: await lastEventNumber(tx, before.partyId),
      nextDueAtMs: await realNow(tx),
      failingSinceMs: null,
    }
    const enabled = enabledEvents === undefined ? before.enabledEvents : JSON.stringify(enabledTypes(enabledEvents))
    // A new URL, new event types and re-enabling can all give a receiver data that it did not get before, so the caller
    // must have the permission to read this data.
    if (enabledEvents !== undefined) requireMayReceive(context, enabled, { pointer: enabledEventsPointer })
    else if (url !== undefined || isEnabled) requireMayReceive(context, enabled)
    const after = await changeWebhook(tx, before, {
      ...(url !== undefined && { url: webhookUrl(url, context) }),
      ...(description !== undefined && { description }),
      enabledEvents: enabled,
      ...(tags !== undefined && { tags: mergedTags(before.tags, tags) }),
      ...(status !== undefined && { status }),
      ...restart,
      updatedAtMs: nowMs,
    })
    return webhookView(after)
  },

  deleteWebhook: async ({ webhookId }, context) => {
    const webhook = await loadWebhook(context, webhookId)
    await deleteWebhook(context.tx, webhook)
    return { data: webhookView(webhook), meta: { deleted: true } as const }
  },

  /**
   * Rotates the signing secret. At most two secrets are valid at the same time. If an older secret is still valid
   * because of the previous rotation, that secret becomes invalid immediately.
   */
  rotateWebhookSecret: async ({ webhookId, expiresInSeconds }, context) => {
    const { tx, nowMs } = context
    const before = await loadWebhook(context, webhookId)
    const [secrets, realNowMs] = await Promise.all([webhookSecrets(tx), realNow(tx)])
    const previousSecretUntilMs = expiresInSeconds === 0 ? null : realNowMs + expiresInSeconds * 1000
    const after = await changeWebhook(tx, before, {
      secretNumber: before.secretNumber + 1,
      secretKeyId: secrets.newestKeyId,
      previousKeyId: previousSecretUntilMs === null ? null : before.secretKeyId,
      previousSecretUntilMs,
      updatedAtMs: nowMs,
    })
    const { attributes, ...view } = webhookView(after)
    const previousSecretExpiresAt = previousSecretUntilMs === null ? null : timestamp(previousSecretUntilMs)
    return { ...view, attributes: { ...attributes, signingSecret: secrets.current(after), previousSecretExpiresAt } }
  },

  listWebhookDeliveries: async (input, context) => {
    const { tx, partyId } = context
    const { webhookId, status } = input
    const scope = { partyId, webhookId, status }
    const list = { list: 'webhookDeliveries', ...scope }
    const requestedPage = pageRequest(input, list)
    await loadWebhook(context, webhookId)
    return page(await listDeliveries(tx, scope, requestedPage), list, deliveryView)
  },

  sendTestEvent: async ({ webhookId }, context) => {
    const { tx, nowMs } = context
    const webhook = await loadWebhook(context, webhookId)
    if (webhook.status === 'DISABLED') {
      fail('conflict', { detail: `The webhook ${webhook.id} is DISABLED. Enable it with update_webhook first.` })
    }
    const event = await recordEventNow(tx, { ...webhook, agentId: null }, 'webhook.test', nowMs)
    await sendTo(context, event, [webhook])
    const [view] = await eventViews(tx, [{ event, record: webhook }])
    if (view === undefined) throw new Error(`Bug: the event ${event.sequence} of ${event.partyId} has no view.`)
    return view
  },
} satisfies HandlersOf<typeof webhooks>

const enabledEventsPointer = '/data/attributes/enabledEvents'

/**
 * Requires that the caller may read every event type that the webhook receives.
 * @throws 403 `forbidden` that names the missing permissions.
 */
function requireMayReceive({ actor }: Context, enabledEvents: string, source?: { pointer: string }): void {
  const wantedTypes = eventTypes.filter((type) => wants(JSON.parse(enabledEvents) as string[], type))
  const readPermissions = wantedTypes.map((type) => eventKinds[wordOf(type)].permission)
  requireCanGrant(actor, grantedScopes.readingOf(readPermissions), source)
}

async function loadWebhook({ tx, partyId }: Context, id: string): Promise<WebhookRow> {
  const webhook = await findWebhook(tx, { partyId, id })
  return webhook ?? fail('not_found', { detail: `There is no webhook ${id}. list_webhooks lists all webhooks.` })
}

function deliveryView(row: WebhookDeliveryRow): z.output<typeof WebhookDelivery> {
  return {
    type: 'webhookDelivery',
    id: row.id,
    attributes: {
      eventId: row.eventId,
      eventType: row.eventType,
      status: row.status,
      attempts: row.attempts,
      lastResponseStatus: row.lastResponseStatus,
      lastError: row.lastError,
      nextAttemptAt: row.dueAtMs === null ? null : timestamp(row.dueAtMs),
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: { webhook: { data: { type: 'webhook', id: row.webhookId } } },
  }
}
