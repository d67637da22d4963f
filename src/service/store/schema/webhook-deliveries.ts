import type { deliveryStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** What is on its way to a webhook, and what became of it. All times are real. */
export const webhookDeliveries = table({
  id: text,
  partyId: text,
  webhookId: text,
  eventSequence: bigint,
  /** It stays, where a reset of the sandbox gives the number again. */
  eventId: text,
  eventType: text,
  status: text as Column<(typeof deliveryStatuses)[number]>,
  attempts: integer,
  lastResponseStatus: nullable(integer),
  lastError: nullable(text),
  /** When it is tried next; null: it is not. */
  dueAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId webhookId status id', 'createdAtMs'],
  $namedIndexes: { due: '("partyId", "webhookId", "dueAtMs", "eventSequence") where "dueAtMs" is not null' },
})

export type WebhookDeliveryRow = RowOf<typeof webhookDeliveries>
