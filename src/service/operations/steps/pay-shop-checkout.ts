import { type ShopDeclineCode, shopDeclines } from '../../../../tools/shops.ts'
import { newId } from '../../../core/system.ts'
import type { ShopDefinition } from '../../../worlds/shops.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { applyDueSteps, type Ordered } from '../../request/shop-events.ts'
import { nextOfOrder, type ShopOrderState } from '../../rules/shop-orders.ts'
import { isCard, requireOpen, requireTotal, type TypedCard } from '../../rules/shops.ts'
import { cardAtMerchant, findPayableCard, hasUsableCard } from '../../store/agent-cards.ts'
import type { Paid } from '../../store/purchases.ts'
import type { AgentCardRow } from '../../store/schema/agent-cards.ts'
import { type ShopCheckoutRecord, saveShopCheckout } from '../../store/shop-checkouts.ts'
import { insertShopOrder, type ShopOrderRecord } from '../../store/shop-orders.ts'
import { cardDetails } from '../agent-cards.ts'
import { authorizeCard } from './authorize-card.ts'

/**
 * The context of a payment at a shop. `agentId` is null if no agent pays; `instanceId` is null if the call had none.
 */
export interface Payer extends ChangeContext {
  agentId: string | null
  instanceId: string | null
  /** Requires that the payer may use the cards of this card's wallet. */
  requireMayUse(card: AgentCardRow): Promise<void>
}

/** The card details that the buyer typed into the shop's form, and the amount that the buyer agreed to. */
export interface TypedPayment extends TypedCard {
  amount: number
}

/**
 * Pays a checkout. The shop charges the card under the shop's name, as any merchant would, or rejects the card
 * (docs/shops.md#declines). After a successful charge, the shop's later steps, such as shipping, are scheduled on the
 * sandbox clock.
 * @throws 409 if the checkout is not open, 422 if the amount differs from the checkout's total.
 */
export async function payCheckout(
  payer: Payer,
  shop: ShopDefinition,
  checkout: ShopCheckoutRecord,
  { amount, ...typed }: TypedPayment,
): Promise<ShopCheckoutRecord> {
  const { nowMs } = payer
  requireOpen(checkout, nowMs)
  requireTotal(checkout.cart, amount)
  const declined = (code: ShopDeclineCode) => decline(payer, shop, checkout, code)
  if (!shop.takesCards) return declined('card_not_accepted')
  const buyer = { partyId: checkout.partyId, agentId: checkout.agentId }
  const card = await cardAtMerchant(payer.tx, { ...buyer, merchantName: shop.name.trim(), nowMs })
  if (card === undefined)
    return declined((await hasUsableCard(payer.tx, { ...buyer, nowMs })) ? 'other_merchant' : 'no_card')
  await payer.requireMayUse(card)
  if (!isCard(typed, cardDetails(card))) return declined('wrong_card_details')
  const { agentId, instanceId } = payer
  const charge = { merchantName: shop.name, amountCents: amount, agentId, instanceId }
  const payable = await findPayableCard(payer.tx, { ...buyer, agentId: null }, card.id, null)
  if (payable === undefined) throw new Error(`Bug: the card ${card.id} is gone.`)
  const authorized = await authorizeCard(payer, payable, charge)
  if ('notAttempted' in authorized) return declined(authorized.notAttempted)
  const { declineCode } = authorized.purchase
  if (declineCode !== null) return declined(declineCode as ShopDeclineCode)
  const { order } = await placeOrder(payer, shop, checkout, { ...authorized, card })
  return saveShopCheckout(payer.tx, checkout, { decline: null, orderId: order.id, updatedAtMs: nowMs })
}

function decline(
  { tx, nowMs }: Payer,
  { says }: ShopDefinition,
  checkout: ShopCheckoutRecord,
  code: ShopDeclineCode,
): Promise<ShopCheckoutRecord> {
  const detail = shopDeclines[code]
  const message = says.decline ?? 'Your card was declined.'
  return saveShopCheckout(tx, checkout, { decline: { code, detail, message }, orderId: null, updatedAtMs: nowMs })
}

async function placeOrder(
  { tx, system, nowMs, instanceId }: Payer,
  shop: ShopDefinition,
  { id: checkoutId, partyId, agentId, cart }: ShopCheckoutRecord,
  { purchase, wallet, card }: Paid & { card: AgentCardRow },
): Promise<Ordered> {
  const state = initialOrderState(shop, cart, nowMs)
  const order: ShopOrderRecord = {
    id: newId('sor', system, nowMs),
    partyId,
    agentId,
    instanceId,
    checkoutId,
    shopId: shop.id,
    cardTransactionId: purchase.id,
    status: 'placed',
    state,
    nextEventAtMs: nextOfOrder({ state })?.atMs ?? null,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  await insertShopOrder(tx, order)
  // Runs the steps that are already due. For example, a shop that ships without delay captures the payment now.
  const limit = Number.POSITIVE_INFINITY
  return (
    await applyDueSteps(
      { tx, system },
      { order, purchase, wallet, card: { ...card, usedAtMs: nowMs } },
      { nowMs, limit },
    )
  ).ordered
}

/**
 * Returns the initial state of an order. The state contains everything that the shop will do later, such as when it
 * ships. Changes to the shop's definition therefore do not affect the order.
 */
function initialOrderState(shop: ShopDefinition, cart: ShopCheckoutRecord['cart'], nowMs: number): ShopOrderState {
  const { says, captures, returns } = shop
  const extra = cart.extras.find(({ selected, subscription }) => selected && subscription !== null)
  const sold = cart.lines.map(({ productId }) => shop.products.find(({ id }) => id === productId))
  return {
    cart,
    receipt: says.receipt ?? `Thank you for your order at ${shop.name}.`,
    message: null,
    words: { shipped: says.shipped ?? null, canceled: says.canceled ?? null, returned: says.returned ?? null },
    firstOnly: captures.parcels === 'first_only',
    outOfStock: sold.flatMap((product) => (product === undefined || product.available ? [] : [product.name])),
    shipsAtMs: nowMs + 1000 * captures.afterSeconds,
    shippedLines: 0,
    returns:
      returns === undefined
        ? null
        : { withinMs: 1000 * returns.withinSeconds, refundAfterMs: 1000 * returns.refundAfterSeconds },
    returnableUntilMs: null,
    refundsAtMs: null,
    returnReason: null,
    subscription:
      extra?.subscription == null
        ? null
        : {
            description: extra.name,
            amountCents: extra.subscription.amountCents,
            status: 'trial',
            chargesAtMs: nowMs + extra.subscription.afterMs,
          },
    next: null,
  }
}
