import type { z } from 'zod'
import type { Shop, ShopCheckout, ShopDeclineCode, ShopOrder, shops } from '../../../tools/shops.ts'
import { Failure, fail } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import type { ShopDefinition } from '../../worlds/shops.ts'
import { type Context, cardScope, type HandlersOf } from '../request/handler.ts'
import { requireWalletPermission } from '../request/permission-checks.ts'
import { purchaseOf } from '../request/shop-events.ts'
import { nextOfOrder, sendBack } from '../rules/shop-orders.ts'
import { checkoutLifetimeMs, checkoutStatus, fillCart, maskedNote } from '../rules/shops.ts'
import type { CardTransactionRow } from '../store/schema/card-transactions.ts'
import { findShopCheckout, insertShopCheckout, type ShopCheckoutRecord } from '../store/shop-checkouts.ts'
import { findShopOrder, type ShopOrderRecord, saveShopOrder } from '../store/shop-orders.ts'
import { openShops } from '../store/shops.ts'
import { shopTokens } from '../tokens/shop-tokens.ts'
import { payCheckout } from './steps/pay-shop-checkout.ts'

export const shopHandlers = {
  listShops: async (_input, context) => (await openShops(context.tx)).map((shop) => shopView(shop, context)),

  getShop: async ({ shopId }, context) => shopView(await loadShop(context, shopId), context),

  startShopCheckout: async (input, context) => {
    const { tx, actor, partyId, instanceId, nowMs, system } = context
    const shop = await loadShop(context, input.shopId)
    const cart = fillCart(shop, input)
    const record: ShopCheckoutRecord = {
      id: newId('sco', system, nowMs),
      partyId,
      agentId: actor.agentId,
      instanceId,
      shopId: shop.id,
      cart,
      totalCents: cart.totalCents,
      note: input.note === undefined ? null : maskedNote(input.note),
      decline: null,
      orderId: null,
      version: 1,
      expiresAtMs: nowMs + checkoutLifetimeMs,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    const tokenOf = await shopTokens(tx)
    await insertShopCheckout(tx, record)
    delayAnswer(context, shop)
    return checkoutView(record, shop, { context, tokenOf })
  },

  payShopCheckout: async ({ checkoutId, customerPartyId: _, ...typed }, context) => {
    const { tx, actor, instanceId, attempt, operation } = context
    const [checkout, open, tokenOf] = await Promise.all([
      findShopCheckout(tx, cardScope(context), checkoutId),
      openShops(tx),
      shopTokens(tx),
    ])
    if (checkout === undefined) fail('not_found', { detail: `There is no checkout ${checkoutId}.` })
    const shop = findOpenShop(open, checkout.shopId)
    if (shop.answers.failsOnce === 'before_charge' && attempt === 'first' && checkout.orderId === null)
      throw shopFailure(shop)
    const requireMayUse = ({ walletId: id, partyId }: { walletId: string; partyId: string }) =>
      requireWalletPermission(tx, actor, operation, { id, partyId })
    const payer = { ...context, agentId: actor.agentId, instanceId, requireMayUse }
    const after = await payCheckout(payer, shop, checkout, typed)
    const isLost = after.orderId !== null && shop.answers.failsOnce === 'after_charge'
    delayAnswer(context, shop, isLost ? shopFailure(shop) : undefined)
    return checkoutView(after, shop, { context, tokenOf })
  },

  getShopOrder: async ({ orderId }, context) => {
    const { order, purchase } = await loadOrder(context, orderId)
    return orderView(order, purchase)
  },

  returnShopOrder: async ({ orderId, reason }, context) => {
    const { order, purchase } = await loadOrder(context, orderId)
    const { tx, nowMs } = context
    const after = sendBack(order, reason === undefined ? null : maskedNote(reason), nowMs)
    return orderView(after === order ? order : await saveShopOrder(tx, order, after, nowMs), purchase)
  },
} satisfies HandlersOf<typeof shops>

async function loadShop({ tx }: Pick<Context, 'tx'>, shopId: string): Promise<ShopDefinition> {
  return findOpenShop(await openShops(tx), shopId)
}

function findOpenShop(open: readonly ShopDefinition[], shopId: string): ShopDefinition {
  const shop = open.find(({ id }) => id === shopId)
  if (shop !== undefined) return shop
  const detail = `There is no shop ${shopId}. Open shops: ${open.map(({ id }) => id).join(', ') || 'none'}.`
  return fail('not_found', { detail, source: { parameter: 'shopId' } })
}

/**
 * Returns an order, and the purchase that paid for it.
 * @throws 404 if the caller has no such order, 403 if an agent lacks the operation's permission on the purchase's
 * wallet.
 */
async function loadOrder(context: Context, id: string) {
  const { tx, actor, operation } = context
  const order = await findShopOrder(tx, cardScope(context), id)
  if (order === undefined) fail('not_found', { detail: `There is no order ${id}.` })
  const purchase = await purchaseOf(tx, order)
  await requireWalletPermission(tx, actor, operation, { id: purchase.walletId, partyId: purchase.partyId })
  return { order, purchase }
}

/**
 * Delays the response if the shop is slow. If `failure` is given, this error replaces the response, although the card
 * has been charged.
 */
function delayAnswer({ afterCommit }: Context, { answers }: ShopDefinition, failure?: Failure): void {
  if (answers.slowMs > 0 || failure !== undefined) afterCommit.changedAnswer = { delayMs: answers.slowMs, failure }
}

function shopFailure({ name, says }: ShopDefinition): Failure {
  const detail = says.error ?? `${name} is not responding. It may or may not have charged the card.`
  return new Failure('service_unavailable', { detail, retryable: true })
}

export function shopView(shop: ShopDefinition, { publicUrl }: Pick<Context, 'publicUrl'>): z.output<typeof Shop> {
  return {
    type: 'shop',
    id: shop.id,
    attributes: {
      name: shop.name,
      about: shop.about,
      url: `${publicUrl()}/shops/${shop.id}`,
      currency: 'USD',
      products: shop.products.map(({ id, name, description, price }) => ({ productId: id, name, description, price })),
    },
  }
}

interface CheckoutViewOptions {
  context: Pick<Context, 'publicUrl' | 'nowMs'>
  tokenOf: (checkoutId: string) => string
}

export function checkoutView(
  record: ShopCheckoutRecord,
  { name, terms, says }: ShopDefinition,
  { context: { publicUrl, nowMs }, tokenOf }: CheckoutViewOptions,
): z.output<typeof ShopCheckout> {
  const { id, cart, decline, orderId } = record
  return {
    type: 'shopCheckout',
    id,
    attributes: {
      shopId: record.shopId,
      merchant: { name },
      status: checkoutStatus(record, nowMs),
      items: cart.lines.map(({ priceCents, ...line }) => ({ ...line, price: priceCents })),
      extras: cart.extras.map(({ extraId, name: extraName, priceCents, selected }) => {
        return { extraId, name: extraName, price: priceCents, selected }
      }),
      subtotal: cart.subtotalCents,
      tax: cart.taxCents,
      shipping: cart.shippingCents,
      otherOrder: cart.otherOrderCents,
      total: cart.totalCents,
      currency: 'USD',
      terms: terms ?? null,
      message: decline === null ? (says.checkout ?? null) : decline.message,
      decline: decline === null ? null : { code: decline.code as ShopDeclineCode, detail: decline.detail },
      orderId,
      url: `${publicUrl()}/shops/checkouts/${tokenOf(id)}`,
      agentId: record.agentId,
      instanceId: record.instanceId,
      expiresAt: timestamp(record.expiresAtMs),
      createdAt: timestamp(record.createdAtMs),
      updatedAt: timestamp(record.updatedAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: record.partyId } },
      shopOrder: { data: orderId === null ? null : { type: 'shopOrder', id: orderId } },
    },
  }
}

export function orderView(record: ShopOrderRecord, purchase: CardTransactionRow): z.output<typeof ShopOrder> {
  const { id, state } = record
  const { cart, subscription } = state
  const nextAtMs = nextOfOrder(record)?.atMs
  return {
    type: 'shopOrder',
    id,
    attributes: {
      shopId: record.shopId,
      merchant: { name: purchase.merchantName },
      status: record.status,
      items: cart.lines.map(({ priceCents, ...line }, at) => {
        return { ...line, price: priceCents, shipped: at < state.shippedLines ? line.quantity : 0 }
      }),
      total: purchase.amountCents,
      captured: purchase.capturedCents,
      refunded: purchase.refundedCents,
      currency: 'USD',
      receipt: state.receipt,
      message: state.message,
      subscription: subscription && {
        description: subscription.description,
        amount: subscription.amountCents,
        status: subscription.status,
        nextChargeAt: subscription.chargesAtMs === null ? null : timestamp(subscription.chargesAtMs),
      },
      nextCheckoutId: state.next?.checkoutId ?? null,
      nextTotal: state.next?.totalCents ?? null,
      nextEventAt: nextAtMs === undefined ? null : timestamp(nextAtMs),
      agentId: record.agentId,
      instanceId: record.instanceId,
      createdAt: timestamp(record.createdAtMs),
      updatedAt: timestamp(record.updatedAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: record.partyId } },
      shopCheckout: { data: { type: 'shopCheckout', id: record.checkoutId } },
      cardTransaction: { data: { type: 'cardTransaction', id: record.cardTransactionId } },
    },
  }
}
