import { newId, type System } from '../../core/system.ts'
import { declineReason } from '../rules/agent-cards.ts'
import { dispatch, leftUnpaid, nextOfOrder, receive } from '../rules/shop-orders.ts'
import { nextCheckoutLifetimeMs, type ShopCart } from '../rules/shops.ts'
import { findAgentCard } from '../store/agent-cards.ts'
import { findCardTransaction } from '../store/card-transactions.ts'
import type { DueOf } from '../store/clock.ts'
import type { Transaction } from '../store/engine/store.ts'
import { capturePurchase, enterPurchase, type Paid, refundPurchase, releasePurchase } from '../store/purchases.ts'
import type { AgentCardRow } from '../store/schema/agent-cards.ts'
import { insertShopCheckout } from '../store/shop-checkouts.ts'
import { dueShopOrders, type ShopOrderRecord, saveShopOrder } from '../store/shop-orders.ts'
import { findWallet } from '../store/wallets.ts'

/** An order with its purchase, card and wallet. */
export interface Ordered extends Paid {
  order: ShopOrderRecord
  card: AgentCardRow
}

/**
 * Applies at most `due.limit` due steps of a party's shop orders. Returns the number of steps applied. Each step is
 * dated to the time when it was due, even if it is applied later.
 */
export async function applyShopEvents(tx: Transaction, system: System, due: DueOf): Promise<number> {
  const orders = await dueShopOrders(tx, due)
  // All orders are read before the first write.
  const all = await Promise.all(orders.map(async (order) => ({ order, ...(await paymentOf(tx, order)) })))
  let count = 0
  for (const ordered of all) {
    const acted = await applyDueSteps({ tx, system }, ordered, { ...due, limit: due.limit - count })
    count += acted.count
    if (count === due.limit) break
  }
  return count
}

/** Applies at most `limit` due steps of one order. */
export async function applyDueSteps(
  on: { tx: Transaction; system: System },
  before: Ordered,
  { nowMs, limit }: Pick<DueOf, 'nowMs' | 'limit'>,
): Promise<{ ordered: Ordered; count: number }> {
  let ordered = before
  let count = 0
  for (; count < limit; count++) {
    const next = nextOfOrder(ordered.order)
    if (next === undefined || next.atMs > nowMs) break
    ordered = { ...ordered, ...(await acts[next.what](on, ordered, next.atMs)) }
  }
  return { ordered, count }
}

/** Returns the purchase that paid for an order, with the current state of its card and wallet. */
export async function paymentOf(tx: Transaction, order: ShopOrderRecord) {
  const purchase = await purchaseOf(tx, order)
  const { partyId, cardId, walletId } = purchase
  const [card, wallet] = await Promise.all([
    findAgentCard(tx, { partyId, agentId: null }, cardId),
    findWallet(tx, partyId, walletId),
  ])
  if (card === undefined || wallet === undefined) throw new Error(`Bug: the payment of the order ${order.id} is gone.`)
  return { purchase, card, wallet }
}

export async function purchaseOf(tx: Transaction, { id, partyId, cardTransactionId }: ShopOrderRecord) {
  const purchase = await findCardTransaction(tx, { partyId, agentId: null }, cardTransactionId)
  if (purchase === undefined) throw new Error(`Bug: the purchase of the order ${id} is gone.`)
  return purchase
}

type Act = (
  on: { tx: Transaction; system: System },
  ordered: Ordered,
  atMs: number,
) => Promise<Pick<Ordered, 'order' | 'purchase'>>

const acts: Readonly<Record<NonNullable<ReturnType<typeof nextOfOrder>>['what'], Act>> = {
  shipsAtMs: async (on, { order, purchase: authorized, wallet }, atMs) => {
    const at = { ...on, atMs }
    // A hold whose expiry time has passed counts as expired, even if the expiry has not been applied yet.
    const lapsedAtMs = authorized.holdExpiresAtMs
    const lapsed = lapsedAtMs !== null && lapsedAtMs <= atMs
    const purchase = lapsed
      ? await releasePurchase({ ...on, atMs: lapsedAtMs }, { purchase: authorized, wallet }, 'expire')
      : authorized
    const { money, unpaidCart, status, state } = dispatch(order, purchase, atMs)
    let after = purchase
    if (money?.do === 'capture') after = await capturePurchase(at, { purchase, wallet }, money.cents)
    if (money?.do === 'reverse') after = await releasePurchase(at, { purchase, wallet }, 'reverse')
    if (money?.do === 'refund') after = await refundAll(on, { order, purchase, wallet }, atMs)
    const next = unpaidCart === null ? null : await askAgain(on, order, unpaidCart, atMs)
    return { order: await saveShopOrder(on.tx, order, { status, state: { ...state, next } }, atMs), purchase: after }
  },

  refundsAtMs: async (on, { order, purchase, wallet }, atMs) => {
    const after = await refundAll(on, { order, purchase, wallet }, atMs)
    return { order: await saveShopOrder(on.tx, order, receive(order), atMs), purchase: after }
  },

  chargesAtMs: async (on, { order, purchase, card, wallet }, atMs) => {
    const amountCents = order.state.subscription?.amountCents ?? 0
    const declineCode = declineReason({ card, amountCents, availableCents: wallet.availableCents, nowMs: atMs })
    if (declineCode === null) throw new Error(`Bug: the card ${card.id} was already used, but would pay again.`)
    const attempt = { merchantName: purchase.merchantName, amountCents, declineCode, ...causeOf(order) }
    await enterPurchase({ ...on, atMs }, { card, wallet }, attempt)
    return { order: await saveShopOrder(on.tx, order, leftUnpaid(order), atMs), purchase }
  },
}

async function refundAll(
  on: { tx: Transaction; system: System },
  { order, purchase, wallet }: Omit<Ordered, 'card'>,
  atMs: number,
) {
  const cents = purchase.capturedCents - purchase.refundedCents
  if (cents === 0) return purchase
  return (await refundPurchase({ ...on, atMs }, { purchase, wallet }, cents, causeOf(order))).purchase
}

const causeOf = ({ agentId, instanceId }: ShopOrderRecord) => ({ agentId, instanceId })

/** Opens a new checkout, in which the buyer can pay for the goods that are not paid for yet. */
async function askAgain(
  { tx, system }: { tx: Transaction; system: System },
  { partyId, agentId, instanceId, shopId }: ShopOrderRecord,
  cart: ShopCart,
  atMs: number,
) {
  const id = newId('sco', system, atMs)
  await insertShopCheckout(tx, {
    id,
    partyId,
    agentId,
    instanceId,
    shopId,
    cart,
    totalCents: cart.totalCents,
    note: null,
    decline: null,
    orderId: null,
    version: 1,
    expiresAtMs: atMs + nextCheckoutLifetimeMs,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  })
  return { checkoutId: id, totalCents: cart.totalCents }
}
