import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const subscriptions = table({
  id: text,
  /** The merchant: the party for which the subscription was created. */
  partyId: text,
  /** The wallet that receives the money. */
  walletId: text,
  paymentIntentId: text,
  mandateId: nullable(text),
  agentId: nullable(text),
  instanceId: nullable(text),
  status: text as Column<'pending' | 'active' | 'past_due' | 'needs_attention' | 'canceled' | 'completed'>,
  /** `Terms` as JSON. */
  terms: text,
  /** `Billing` as JSON. */
  billing: text,
  currency: text as Column<'USD'>,
  version: integer,
  /** The time of the next automatic event; null if no event is planned. */
  nextEventAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['nextEventAtMs id', 'partyId status id', 'partyId walletId status id', 'partyId nextEventAtMs id', 'id'],
  $uniqueIndexes: ['paymentIntentId'],
})

export type SubscriptionRow = RowOf<typeof subscriptions>
