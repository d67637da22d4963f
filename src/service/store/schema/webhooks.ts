import type { webhookStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** URLs that receive a party's events (docs/webhooks.md). Delivery times are on the real clock. */
export const webhooks = table({
  id: text,
  partyId: text,
  url: text,
  description: nullable(text),
  status: text as Column<(typeof webhookStatuses)[number]>,
  /** JSON array. */
  enabledEvents: text,
  /** JSON object of strings. */
  tags: text,
  /**
   * The number of the webhook's secret. The secret itself is not stored, because it is derived from this number with
   * the root key `secretKeyId`.
   */
  secretNumber: integer,
  secretKeyId: integer,
  /** The id of the root key from which the previous secret is derived; null if there is no previous secret. */
  previousKeyId: nullable(integer),
  /** The time, by the real clock, until which deliveries are also signed with the previous secret. */
  previousSecretUntilMs: nullable(bigint),
  /** The sequence number of the party's last event that was processed for this webhook. */
  toldUpTo: bigint,
  /** The time, by the real clock, since which all deliveries have failed; null if the last delivery succeeded. */
  failingSinceMs: nullable(bigint),
  /** The time of the next delivery, by the real clock; null if no delivery is planned. */
  nextDueAtMs: nullable(bigint),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['status partyId id'],
  $namedIndexes: { due: '("nextDueAtMs") where "nextDueAtMs" is not null' },
})

export type WebhookRow = RowOf<typeof webhooks>
