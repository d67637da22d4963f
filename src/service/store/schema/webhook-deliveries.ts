import type { deliveryStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** The delivery of an event to a webhook, and the outcome. All times are on the real clock. */
export const webhookDeliveries = table({
  id: text,
  partyId: text,
  webhookId: text,
  eventSequence: bigint,
  /** The id of the event. Unlike the sequence number, it is never reused after a reset of the sandbox. */
  eventId: text,
  eventType: text,
  status: text as Column<(typeof deliveryStatuses)[number]>,
  attempts: integer,
  lastResponseStatus: nullable(integer),
  lastError: nullable(text),
  /** The time of the next attempt; null if there is none. */
  dueAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId webhookId status id', 'createdAtMs'],
  $namedIndexes: { due: '("partyId", "webhookId", "dueAtMs", "eventSequence") where "dueAtMs" is not null' },
})

export type WebhookDeliveryRow = RowOf<typeof webhookDeliveries>
