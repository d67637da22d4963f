import type { deliveryStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** The delivery of one event to one webhook, and the outcome of the delivery. All times are on the real clock. */
export const webhookDeliveries = table({
  id: text,
  partyId: text,
  webhookId: text,
  eventSequence: bigint,
  /** The id of the event. After a reset of the sandbox, sequence numbers are used again, but event ids are not. */
  eventId: text,
  eventType: text,
  status: text as Column<(typeof deliveryStatuses)[number]>,
  attempts: integer,
  lastResponseStatus: nullable(integer),
  lastError: nullable(text),
  /** The time of the next attempt; null if no attempt is planned. */
  dueAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId webhookId status id', 'createdAtMs'],
  $namedIndexes: { due: '("partyId", "webhookId", "dueAtMs", "eventSequence") where "dueAtMs" is not null' },
})

export type WebhookDeliveryRow = RowOf<typeof webhookDeliveries>
