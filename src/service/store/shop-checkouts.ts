import type { ShopCart } from '../rules/shops.ts'
import { preparedInsert } from './engine/insert.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { ShopCheckoutRow } from './schema/shop-checkouts.ts'

/** The reason why a card was declined. */
export interface ShopDecline {
  code: string
  detail: string
  /** The shop's own message. */
  message: string
}

/** A stored checkout, with its cart and decline parsed. */
export interface ShopCheckoutRecord extends Omit<ShopCheckoutRow, 'cart' | 'decline'> {
  cart: ShopCart
  decline: ShopDecline | null
}

/** Finds a checkout of a party. If `agentId` is set, finds only a checkout that this agent started. */
export async function findShopCheckout(
  tx: Transaction,
  { partyId, agentId }: { partyId: string; agentId: string | null },
  id: string,
): Promise<ShopCheckoutRecord | undefined> {
  const [row] = (await checkoutOf(tx, { id, partyId })).rows
  return row !== undefined && (agentId === null || row.agentId === agentId) ? parse(row) : undefined
}

const checkoutOf = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('shopCheckouts').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

/** Finds a checkout of any party. Only for the checkout page, because its secret URL does not identify a party. */
export async function findShopCheckoutOfAnyParty(tx: Transaction, id: string): Promise<ShopCheckoutRecord | undefined> {
  const [row] = (await checkoutById(tx, { id })).rows
  return row && parse(row)
}

const checkoutById = prepared((db, by: { id: string }) =>
  db.selectFrom('shopCheckouts').selectAll().where('id', '=', by.id),
)

export function insertShopCheckout(tx: Transaction, record: ShopCheckoutRecord): Promise<void> {
  return insert(tx, { ...record, cart: JSON.stringify(record.cart), decline: declineJson(record) })
}

const insert = preparedInsert('shopCheckouts')

/** Saves the outcome of an attempt to pay. @throws StaleWriteError if the checkout has changed since it was read. */
export async function saveShopCheckout(
  tx: Transaction,
  before: ShopCheckoutRecord,
  change: Pick<ShopCheckoutRecord, 'decline' | 'orderId' | 'updatedAtMs'>,
): Promise<ShopCheckoutRecord> {
  const { partyId, id, version } = before
  const after = { ...before, ...change, version: version + 1 }
  const { orderId, updatedAtMs } = change
  const row = { partyId, id, version, orderId, updatedAtMs, decline: declineJson(change) }
  await update(tx, { ...row, nextVersion: version + 1 })
  return after
}

type Update = Pick<ShopCheckoutRow, 'partyId' | 'id' | 'version' | 'decline' | 'orderId' | 'updatedAtMs'>

const update = changingOne(
  (db, row: Update & { nextVersion: number }) =>
    db
      .updateTable('shopCheckouts')
      .set({ decline: row.decline, orderId: row.orderId, updatedAtMs: row.updatedAtMs, version: row.nextVersion })
      .where('partyId', '=', row.partyId)
      .where('id', '=', row.id)
      .where('version', '=', row.version),
  ({ id }) => `shop checkout ${id}`,
)

const declineJson = ({ decline }: Pick<ShopCheckoutRecord, 'decline'>) =>
  decline === null ? null : JSON.stringify(decline)

function parse(row: ShopCheckoutRow): ShopCheckoutRecord {
  const decline = row.decline === null ? null : (JSON.parse(row.decline) as ShopDecline)
  return { ...row, cart: JSON.parse(row.cart) as ShopCart, decline }
}
