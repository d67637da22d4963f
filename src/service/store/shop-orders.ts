import { shopOrderEvent } from '../rules/events.ts'
import { nextOfOrder, type ShopOrder, type ShopOrderState } from '../rules/shop-orders.ts'
import type { DueOf, Moments } from './clock.ts'
import { preparedInsert } from './engine/insert.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { ShopOrderRow } from './schema/shop-orders.ts'

/** A stored order, with its state parsed. */
export interface ShopOrderRecord extends Omit<ShopOrderRow, 'state'> {
  state: ShopOrderState
}

/** Finds an order of a party. If `agentId` is set, finds only an order that this agent placed. */
export async function findShopOrder(
  tx: Transaction,
  { partyId, agentId }: { partyId: string; agentId: string | null },
  id: string,
): Promise<ShopOrderRecord | undefined> {
  const [row] = (await orderOf(tx, { id, partyId })).rows
  return row !== undefined && (agentId === null || row.agentId === agentId) ? parse(row) : undefined
}

const orderOf = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('shopOrders').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

/** Finds orders of a party by their ids. */
export async function findShopOrders(
  { db }: Transaction,
  { partyId, ids }: { partyId: string; ids: readonly string[] },
): Promise<ShopOrderRecord[]> {
  const all = db.selectFrom('shopOrders').selectAll().where('partyId', '=', partyId)
  return (await all.where('id', 'in', ids).execute()).map(parse)
}

/** Returns the newest orders of a party. */
export async function latestShopOrders(tx: Transaction, partyId: string, limit: number): Promise<ShopOrderRecord[]> {
  return (await latestOf(tx, { partyId, limit })).rows.map(parse)
}

const latestOf = prepared((db, by: { partyId: string; limit: number }) =>
  db.selectFrom('shopOrders').selectAll().where('partyId', '=', by.partyId).orderBy('id', 'desc').limit(by.limit),
)

export async function insertShopOrder(tx: Transaction, record: ShopOrderRecord): Promise<void> {
  await insert(tx, { ...record, state: JSON.stringify(record.state) })
  recordEvents(tx, record, [shopOrderEvent(undefined, record.status)], record.createdAtMs)
}

const insert = preparedInsert('shopOrders')

/** Selects the time of the next automatic step of each order that has one. */
export const shopMoments: Moments = (db, partyId) => {
  const all = db
    .selectFrom('shopOrders')
    .select(['id', 'partyId', 'nextEventAtMs as atMs'])
    .where('nextEventAtMs', 'is not', null)
  return partyId === undefined ? all : all.where('partyId', '=', partyId)
}

/** Returns a party's orders whose next step is due, starting with the most overdue order. */
export async function dueShopOrders(tx: Transaction, due: DueOf): Promise<ShopOrderRecord[]> {
  return (await dueOfParty(tx, due)).rows.map(parse)
}

const dueOfParty = prepared((db, by: DueOf) =>
  db
    .selectFrom('shopOrders')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('nextEventAtMs', '<=', by.nowMs)
    .orderBy('nextEventAtMs')
    .orderBy('id')
    .limit(by.limit),
)

/** Saves an order's new state. @throws StaleWriteError if the order has changed since it was read. */
export async function saveShopOrder(
  tx: Transaction,
  before: ShopOrderRecord,
  { status, state }: ShopOrder,
  atMs: number,
): Promise<ShopOrderRecord> {
  const { partyId, id, version } = before
  const nextEventAtMs = nextOfOrder({ state })?.atMs ?? null
  const after = { ...before, status, state, nextEventAtMs, updatedAtMs: atMs, version: version + 1 }
  const row = { partyId, id, version, status, state: JSON.stringify(state), nextEventAtMs, updatedAtMs: atMs }
  await update(tx, { ...row, nextVersion: version + 1 })
  recordEvents(tx, after, [shopOrderEvent(before.status, status)], atMs)
  return after
}

type Update = Pick<ShopOrderRow, 'partyId' | 'id' | 'version' | 'status' | 'state' | 'nextEventAtMs' | 'updatedAtMs'>

const update = changingOne(
  (db, row: Update & { nextVersion: number }) =>
    db
      .updateTable('shopOrders')
      .set({
        status: row.status,
        state: row.state,
        nextEventAtMs: row.nextEventAtMs,
        updatedAtMs: row.updatedAtMs,
        version: row.nextVersion,
      })
      .where('partyId', '=', row.partyId)
      .where('id', '=', row.id)
      .where('version', '=', row.version),
  ({ id }) => `shop order ${id}`,
)

function parse(row: ShopOrderRow): ShopOrderRecord {
  return { ...row, state: JSON.parse(row.state) as ShopOrderState }
}
