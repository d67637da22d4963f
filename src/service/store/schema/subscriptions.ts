import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const subscriptions = table({
  '0002_subscriptions': {
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
    $indexes: ['partyId id', 'nextEventAtMs id'],
    $uniqueIndexes: ['paymentIntentId'],
  },
  '0020_lists': {
    $indexes: ['partyId status id', 'partyId walletId status id'],
    $droppedIndexes: ['partyId id'],
  },
  '0021_totals_and_due': {
    $indexes: ['partyId nextEventAtMs id'],
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
    $postgresIndexes: ['id'],
  },
})

export type SubscriptionRow = RowOf<typeof subscriptions>
