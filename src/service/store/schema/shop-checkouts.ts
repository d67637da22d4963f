import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A checkout at a sandbox shop, which the buyer pays by card (docs/shops.md). */
export const shopCheckouts = table({
  id: text,
  /** The buyer: the caller's party, or the customer that the caller acts for. */
  partyId: text,
  /** The agent that buys; null if the buyer is a user in a browser, or a program with an API key. */
  agentId: nullable(text),
  instanceId: nullable(text),
  shopId: text,
  /** The items and their cost, as JSON (`ShopCart`). */
  cart: text,
  totalCents: bigint,
  /** The note to the shop. Secrets in it are masked. */
  note: nullable(text),
  /** `ShopDecline` as JSON: why the last card was declined. Null if no card was declined. */
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
