import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const subscriptions = table({
  id: text,
  /** The merchant: the party acted on when it was created. */
  partyId: text,
  /** Where the money lands. */
  walletId: text,
  paymentIntentId: text,
  mandateId: nullable(text),
  agentId: nullable(text),
  instanceId: nullable(text),
  status: text as Column<'pending' | 'active' | 'past_due' | 'needs_attention' | 'canceled' | 'completed'>,
  /** JSON of `Terms`. */
  terms: text,
  /** JSON of `Billing`. */
  billing: text,
  currency: text as Column<'USD'>,
  version: integer,
  /** When something happens next by itself; null when nothing does. */
  nextEventAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['nextEventAtMs id', 'partyId status id', 'partyId walletId status id', 'partyId nextEventAtMs id', 'id'],
  $uniqueIndexes: ['paymentIntentId'],
})

export type SubscriptionRow = RowOf<typeof subscriptions>
