import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { Event } from './events.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, TagChanges, Tags, Text, Timestamp, toOne } from './schemas.ts'

export const webhookStatuses = ['ENABLED', 'DISABLED'] as const

const attributes = {
  url: z.string(),
  description: z.string().nullable(),
  status: z.enum(webhookStatuses),
  enabledEvents: z.array(z.string()),
  tags: z.record(z.string(), z.string()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

const relationships = { party: toOne('party', 'pty') }

/** A URL to which a party's events are sent in the format of the Standard Webhooks specification. */
export const Webhook = resource('webhook', Id('whk'), attributes, relationships)

/** A new webhook, with the secret with which its deliveries are signed. */
const CreatedWebhook = resource(
  'webhook',
  Id('whk'),
  { ...attributes, signingSecret: secret(z.string()).describe('Shown once') },
  relationships,
)

const RotatedWebhook = resource(
  'webhook',
  Id('whk'),
  {
    ...attributes,
    signingSecret: secret(z.string()).describe('Shown once'),
    previousSecretExpiresAt: Timestamp.nullable(),
  },
  relationships,
)

export const deliveryStatuses = ['pending', 'delivered', 'failed'] as const

/** The delivery of an event to a webhook. All times are by the real clock, not by the sandbox clock. */
export const WebhookDelivery = resource(
  'webhookDelivery',
  Id('whd'),
  {
    eventId: Id('evt'),
    eventType: z.string(),
    status: z.enum(deliveryStatuses),
    attempts: z.int(),
    lastResponseStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    nextAttemptAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { webhook: z.object({ data: z.object({ type: z.literal('webhook'), id: Id('whk') }) }) },
)

/** The maximum number of webhooks that a party can have. */
export const maxWebhooks = 100

const WebhookUrl = z.url().max(2048).describe('https; a sandbox on your machine also accepts http for that machine')
const EnabledEvents = z
  .array(z.string().min(1).max(100))
  .min(1)
  .max(100)
  .describe('* for all, or types such as payment.completed')
const Purpose = Text(100).describe('Purpose')

const shared = {
  output: Webhook,
  permission: 'webhooks.manage',
  toolsets: ['events'],
  extension: false,
} as const

const write = { ...shared, ...writeOperation } as const
const read = { ...shared, ...readOperation, permission: 'webhooks.read' } as const
const params = z.strictObject({ webhookId: ArgumentId('whk') })

export const webhooks = {
  createWebhook: defineOperation({
    ...write,
    name: 'create_webhook',
    title: 'Create a webhook',
    description:
      'Sends your events to a URL from now on. The receiver verifies them with signingSecret, which is shown only once.',
    path: '/webhooks',
    attributes: z.strictObject({
      url: WebhookUrl,
      description: Purpose.optional(),
      enabledEvents: EnabledEvents,
      tags: Tags.optional(),
    }),
    output: CreatedWebhook,
    answers: 201,
    adds: true,
    errors: ['conflict'],
  }),

  listWebhooks: defineOperation({
    ...read,
    result: 'page',
    name: 'list_webhooks',
    title: 'List webhooks',
    description: 'Lists the webhooks of your party. Their deliveries: list_webhook_deliveries.',
    path: '/webhooks',
    query: listQuery({ status: z.enum(webhookStatuses).describe('Only this status').optional() }),
    errors: [],
  }),

  getWebhook: defineOperation({
    ...read,
    name: 'get_webhook',
    title: 'Read a webhook',
    description:
      'Reads one webhook. DISABLED: it was switched off, or failed for two days; enable it with update_webhook.',
    path: '/webhooks/{webhookId}',
    params,
    errors: ['not_found'],
  }),

  updateWebhook: defineOperation({
    ...write,
    method: 'PATCH',
    name: 'update_webhook',
    title: 'Change a webhook',
    description: 'Changes only the given fields of a webhook: URL, events, description, tags or status.',
    path: '/webhooks/{webhookId}',
    params,
    attributes: z.strictObject({
      url: WebhookUrl.optional(),
      description: Purpose.nullable().optional(),
      enabledEvents: EnabledEvents.optional(),
      tags: TagChanges.optional(),
      status: z.enum(webhookStatuses).describe('DISABLED: it receives no events').optional(),
    }),
    errors: ['not_found'],
  }),

  deleteWebhook: defineOperation({
    ...write,
    ...deleteOperation,
    name: 'delete_webhook',
    title: 'Delete a webhook',
    description: 'Deletes a webhook and its pending deliveries. To only pause it: update_webhook.',
    path: '/webhooks/{webhookId}',
    params,
    meta: z.object({ deleted: z.literal(true) }),
    errors: ['not_found'],
  }),

  rotateWebhookSecret: defineOperation({
    ...write,
    effect: 'destructive',
    name: 'rotate_webhook_secret',
    title: "Rotate a webhook's secret",
    description:
      'Creates a new signing secret, shown only once. Deliveries have both signatures until the old secret expires.',
    path: '/webhooks/{webhookId}/rotate-secret',
    params,
    attributes: z.strictObject({
      expiresInSeconds: z.int().min(0).max(86_400).describe('How long the old secret stays valid; 0: not at all'),
    }),
    output: RotatedWebhook,
    adds: true,
    errors: ['not_found'],
  }),

  listWebhookDeliveries: defineOperation({
    ...read,
    result: 'page',
    name: 'list_webhook_deliveries',
    title: 'List deliveries of a webhook',
    description:
      "Lists a webhook's deliveries, newest first: whether each arrived, the receiver's answer, and the next attempt.",
    path: '/webhooks/{webhookId}/deliveries',
    params,
    query: listQuery({ status: z.enum(deliveryStatuses).describe('Only this status').optional() }),
    output: WebhookDelivery,
    errors: ['not_found'],
    extension: true,
  }),

  sendTestEvent: defineOperation({
    ...write,
    idempotency: 'ignored',
    name: 'send_test_event',
    title: 'Send a test event',
    description: 'Sends an event of the type webhook.test to a webhook, even if it is not subscribed to that type.',
    path: '/webhooks/{webhookId}/test',
    params,
    output: Event,
    errors: ['not_found', 'conflict'],
    extension: true,
  }),
} as const
