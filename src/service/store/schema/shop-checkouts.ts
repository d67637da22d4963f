import { bigint, integer, nullable, type RowOf, table, text } from './table.ts'

/** A cart at a shop of the sandbox, which waits for a card (docs/shops.md). */
export const shopCheckouts = table({
  id: text,
  /** Who buys: the caller's party, or the customer that it acts for. */
  partyId: text,
  /** The agent that buys; null: a user, an API key or a browser of the party. */
  agentId: nullable(text),
  instanceId: nullable(text),
  shopId: text,
  /** What is bought and what it costs, as JSON (`ShopCart`). */
  cart: text,
  totalCents: bigint,
  /** What was said to the shop; secrets in it are masked. */
  note: nullable(text),
  /** How the last card was declined, as JSON; null: none was. */
  decline: nullable(text),
  /** What was bought when it was paid; null: it is open, or expired. */
  orderId: nullable(text),
  version: integer,
  expiresAtMs: bigint,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['id'],
})

export type ShopCheckoutRow = RowOf<typeof shopCheckouts>
