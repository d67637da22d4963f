import type { webhookStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/**
 * URLs that receive a party's events (docs/webhooks.md). Times of deliveries follow the real clock, not the
 * sandbox clock.
 */
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
   * The number of the webhook's secret. The secret is not stored, because it is derived from this number and the root
   * key with the id `secretKeyId`.
   */
  secretNumber: integer,
  secretKeyId: integer,
  /** The id of the root key from which the previous secret is derived. */
  previousKeyId: nullable(integer),
  /** Until this time by the real clock, deliveries are also signed with the previous secret. */
  previousSecretUntilMs: nullable(bigint),
  /** The sequence number of the party's last event that was processed for this webhook. */
  toldUpTo: bigint,
  /** The time since which no delivery has succeeded, by the real clock; null if the last delivery succeeded. */
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
