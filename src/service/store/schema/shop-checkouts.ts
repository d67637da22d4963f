import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A cart at a sandbox shop that waits for a card (docs/shops.md). */
export const shopCheckouts = table({
  id: text,
  /** The buyer: the caller's party, or the customer that it acts for. */
  partyId: text,
  /** The agent that buys; null for a user, an API key or a browser of the party. */
  agentId: nullable(text),
  instanceId: nullable(text),
  shopId: text,
  /** The bought items and their cost, as JSON (`ShopCart`). */
  cart: text,
  totalCents: bigint,
  /** The note to the shop. Secrets in it are masked. */
  note: nullable(text),
  /** The decline of the last card, as JSON; null if no card was declined. */
  decline: nullable(text),
  /** The order that the payment created; null if the checkout is open or expired. */
  orderId: nullable(text),
  version: integer,
  expiresAtMs: bigint,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['id'],
})

export type ShopCheckoutRow = RowOf<typeof shopCheckouts>
