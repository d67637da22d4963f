import type { shopOrderStatuses } from '../../../../tools/shops.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** An order at a sandbox shop. The shop ships, captures and refunds as the sandbox clock advances (docs/shops.md). */
export const shopOrders = table({
  id: text,
  partyId: text,
  agentId: nullable(text),
  instanceId: nullable(text),
  shopId: text,
  checkoutId: text,
  cardTransactionId: text,
  status: text as Column<(typeof shopOrderStatuses)[number]>,
  /** `ShopOrderState` as JSON, such as the cart, the shipping progress and a planned refund. */
  state: text,
  /** The time of the shop's next automatic step; null if no step is planned. */
  nextEventAtMs: nullable(bigint),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId nextEventAtMs id'],
  $namedIndexes: { due: '("nextEventAtMs") where "nextEventAtMs" is not null' },
})

export type ShopOrderRow = RowOf<typeof shopOrders>
