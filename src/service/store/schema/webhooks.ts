import type { webhookStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** Addresses that receive a party's events (docs/webhooks.md). The times of deliveries are in real time. */
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
   * The number of its secret. The secret is derived from this number and the root key in `secretKeyId`, and is not
   * stored.
   */
  secretNumber: integer,
  secretKeyId: integer,
  /** The root key of the previous secret. */
  previousKeyId: nullable(integer),
  /** The end of the period in which deliveries also carry the previous secret's signature, in real time. */
  previousSecretUntilMs: nullable(bigint),
  /** The number of the party's last event that was processed for this webhook. */
  toldUpTo: bigint,
  /** The time since which no delivery has succeeded, in real time; null if the last one did. */
  failingSinceMs: nullable(bigint),
  /** The time of the next delivery, in real time; null if there is none. */
  nextDueAtMs: nullable(bigint),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['status partyId id'],
  $namedIndexes: { due: '("nextDueAtMs") where "nextDueAtMs" is not null' },
})

export type WebhookRow = RowOf<typeof webhooks>
