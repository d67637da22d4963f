import type { webhookStatuses } from '../../../../tools/webhooks.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** Addresses that are told of a party's events (docs/webhooks.md). Times of sending are real ones. */
export const webhooks = table({
  id: text,
  partyId: text,
  url: text,
  description: nullable(text),
  status: text as Column<(typeof webhookStatuses)[number]>,
  /** JSON array. */
  enabledEvents: text,
  /** JSON object of texts. */
  tags: text,
  /** The number of its secret, which is derived from it and from the root key of that id, and is not stored. */
  secretNumber: integer,
  secretKeyId: integer,
  /** The root key of the secret before. */
  previousKeyId: nullable(integer),
  /** Until when deliveries carry the signature of the secret before, in real time. */
  previousSecretUntilMs: nullable(bigint),
  /** The number of the last event of the party for which it was seen to. */
  toldUpTo: bigint,
  /** Since when nothing arrived there, in real time; null: the last delivery did. */
  failingSinceMs: nullable(bigint),
  /** When there is something to send, in real time; null: there is nothing. */
  nextDueAtMs: nullable(bigint),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['status partyId id'],
  $namedIndexes: { due: '("nextDueAtMs") where "nextDueAtMs" is not null' },
})

export type WebhookRow = RowOf<typeof webhooks>
