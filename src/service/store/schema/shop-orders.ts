import type { shopOrderStatuses } from '../../../../tools/shops.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** What was bought at a shop of the sandbox: it ships, captures and refunds by the sandbox's clock (docs/shops.md). */
export const shopOrders = table({
  id: text,
  partyId: text,
  agentId: nullable(text),
  instanceId: nullable(text),
  shopId: text,
  checkoutId: text,
  cardTransactionId: text,
  status: text as Column<(typeof shopOrderStatuses)[number]>,
  /** What was bought, parcels, and what the shop goes on charging, as JSON (`ShopOrderState`). */
  state: text,
  /** When the shop does something next by itself. */
  nextEventAtMs: nullable(bigint),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId nextEventAtMs id'],
  $namedIndexes: { due: '("nextEventAtMs") where "nextEventAtMs" is not null' },
})

export type ShopOrderRow = RowOf<typeof shopOrders>
