import type { shopOrderStatuses } from '../../../tools/shops.ts'
import { fail } from '../../core/errors.ts'
import type { CardMovement } from './card-purchases.ts'
import { firstParcelCents, otherHalfOf, restOf, type ShopCart } from './shops.ts'
import { next, type Transitions } from './transitions.ts'

export type ShopOrderStatus = (typeof shopOrderStatuses)[number]

/** The shop's actions, each of which happens at a planned time. */
type ShopMove = 'ship' | 'ship_part' | 'cancel' | 'receive'
/** The buyer's actions. */
type BuyerMove = 'return'

/**
 * The transitions that the shop causes. A caller that waits for an order waits until the order's status allows none of
 * these transitions.
 */
export const shopMoves = {
  placed: { ship: 'shipped', ship_part: 'partly_shipped', cancel: 'canceled' },
  shipped: {},
  partly_shipped: {},
  canceled: {},
  returning: { receive: 'returned' },
  returned: {},
} as const satisfies Transitions<ShopOrderStatus, ShopMove>

export const buyerMoves = {
  placed: {},
  shipped: { return: 'returning' },
  partly_shipped: { return: 'returning' },
  canceled: {},
  returning: { return: 'returning' },
  returned: { return: 'returned' },
} as const satisfies Transitions<ShopOrderStatus, BuyerMove>

/**
 * The state of an order and the shop's plan for it. The plan is fixed when the order is placed. Later changes to the
 * shop do not affect the plan.
 */
export interface ShopOrderState {
  cart: ShopCart
  receipt: string
  /** The shop's latest message about the order. */
  message: string | null
  /** The shop's own messages for these three events; null where the default message is used. */
  words: { shipped: string | null; canceled: string | null; returned: string | null }
  /** Whether the shop ships only the first line of the cart, and asks for a second payment for the rest. */
  firstOnly: boolean
  /** The names of products that turn out to be out of stock. */
  outOfStock: string[]
  /** The time when the shop ships or cancels the order; null once it has done so. */
  shipsAtMs: number | null
  /** How many lines of the cart were shipped. */
  shippedLines: number
  returns: { withinMs: number; refundAfterMs: number } | null
  returnableUntilMs: number | null
  /** The time when the shop refunds the returned goods; null if no refund is planned. */
  refundsAtMs: number | null
  /** The message that the buyer sent with the return, with its secrets masked; null if there is none. */
  returnReason: string | null
  subscription: ShopSubscription | null
  /** The checkout in which the buyer pays for the rest of the cart, or pays again after a cancellation. */
  next: { checkoutId: string; totalCents: number } | null
}

export interface ShopSubscription {
  description: string
  amountCents: number
  status: 'trial' | 'unpaid'
  chargesAtMs: number | null
}

/** The parts of an order that the rules use. */
export interface ShopOrder {
  status: ShopOrderStatus
  state: ShopOrderState
}

type Moment = 'shipsAtMs' | 'refundsAtMs' | 'chargesAtMs'

/**
 * Returns the next planned step of an order and its time; undefined if no step is planned. If several steps have the
 * same time, they follow the order of the list below.
 */
export function nextOfOrder({ state }: Pick<ShopOrder, 'state'>): { what: Moment; atMs: number } | undefined {
  const moments: [Moment, number | null][] = [
    ['shipsAtMs', state.shipsAtMs],
    ['refundsAtMs', state.refundsAtMs],
    ['chargesAtMs', state.subscription?.chargesAtMs ?? null],
  ]
  let first: { what: Moment; atMs: number } | undefined
  for (const [what, atMs] of moments)
    if (atMs !== null && (first === undefined || atMs < first.atMs)) first = { what, atMs }
  return first
}

/** An order that the shop has just shipped or canceled. */
export interface Dispatched extends ShopOrder {
  /** The shop's action on the card purchase; null if there is none. */
  money: { do: 'capture'; cents: number } | { do: 'reverse' } | { do: 'refund' } | null
  /** The cart that the buyer can still pay for in a new checkout; null if there is none. */
  unpaidCart: ShopCart | null
}

/**
 * Ships an order or its first part; the caller captures the price (`money`). If goods are out of stock, or if the
 * card's authorization has expired or was reversed, cancels the order instead. In the second case, the buyer can pay
 * again.
 */
export function dispatch(order: ShopOrder, purchase: CardMovement, atMs: number): Dispatched {
  const { state } = order
  const { cart, words } = state
  const isHeld = purchase.status === 'authorized'
  const isCaptured = purchase.capturedCents > 0
  if (state.outOfStock.length > 0) {
    const message =
      words.canceled ??
      `${state.outOfStock.join(', ')} is out of stock. Your order is canceled, and nothing is charged.`
    return cancelOrder(order, {
      message,
      money: isHeld ? { do: 'reverse' } : isCaptured ? { do: 'refund' } : null,
      unpaidCart: null,
    })
  }
  if (!isHeld && !isCaptured) {
    const message =
      'The authorization of your card ended before we shipped, so the order is canceled and nothing is charged. You can pay again.'
    return cancelOrder(order, { message, money: null, unpaidCart: cart })
  }
  const inParts = state.firstOnly && cart.lines.length > 1
  const unpaidCart = inParts ? restOf(cart) : cart.half === 'first' ? otherHalfOf(cart) : null
  const cents = inParts ? firstParcelCents(cart) : cart.totalCents
  const shippedLines = inParts ? 1 : cart.half === 'first' ? 0 : cart.lines.length
  const isPart = unpaidCart !== null
  // If the shop split the cart into two orders, its own message is about the first order, not the second.
  const message =
    (cart.half === 'second' ? null : words.shipped) ??
    (inParts
      ? 'The first parcel is on its way. Pay for the rest in the next checkout. Your card is charged when the rest ships.'
      : 'Your order is on its way.')
  const { returns } = state
  return {
    status: statusAfter(order, isPart ? 'ship_part' : 'ship'),
    state: {
      ...state,
      message,
      shipsAtMs: null,
      shippedLines,
      returnableUntilMs: returns === null ? null : atMs + returns.withinMs,
    },
    money: isHeld ? { do: 'capture', cents } : null,
    unpaidCart,
  }
}

function cancelOrder(
  order: ShopOrder,
  { message, money, unpaidCart }: { message: string } & Pick<Dispatched, 'money' | 'unpaidCart'>,
): Dispatched {
  const state = { ...order.state, message, shipsAtMs: null, subscription: null }
  return { status: statusAfter(order, 'cancel'), state, money, unpaidCart }
}

/** Records that the returned goods arrived. The caller refunds the part of the charge that was not refunded before. */
export function receive(order: ShopOrder): ShopOrder {
  const message = order.state.words.returned ?? 'Your return has arrived, and we refunded it to your card.'
  return { status: statusAfter(order, 'receive'), state: { ...order.state, message, refundsAtMs: null } }
}

/** Records that the card declined the charge for a subscription: a single-purchase card declines any second charge. */
export function leftUnpaid({ status, state }: ShopOrder): ShopOrder {
  const { subscription } = state
  if (subscription === null) throw new Error('Bug: a charge is due for an order without a subscription.')
  const message = `Your card declined the charge for ${subscription.description}.`
  return {
    status,
    state: { ...state, message, subscription: { ...subscription, status: 'unpaid', chargesAtMs: null } },
  }
}

/**
 * Starts the return of an order. An order that is being returned, or was returned, is left unchanged.
 * @throws 409 `conflict` if the order is not shipped or was canceled, or if the shop does not accept the return.
 */
export function sendBack(order: ShopOrder, reason: string | null, nowMs: number): ShopOrder {
  const { status, state } = order
  const after = next<ShopOrderStatus, BuyerMove>(buyerMoves, status, 'return')
  if (after === undefined) {
    const why =
      status === 'placed' ? 'not shipped yet. Return it once it is shipped.' : `${status}: nothing can be returned.`
    fail('conflict', { detail: `The order is ${why}` })
  }
  if (after === status) return order
  const { returns, returnableUntilMs } = state
  if (returns === null || returnableUntilMs === null) {
    fail('conflict', { detail: 'The shop accepts no returns. Nothing was sent back.' })
  }
  if (nowMs >= returnableUntilMs) {
    fail('conflict', { detail: 'The shop no longer accepts returns of this order. Nothing was sent back.' })
  }
  const message = 'Your return is on its way to us. We refund it when it arrives.'
  const refundsAtMs = nowMs + returns.refundAfterMs
  return { status: after, state: { ...state, message, refundsAtMs, returnReason: reason } }
}

function statusAfter({ status }: ShopOrder, move: ShopMove): ShopOrderStatus {
  const after = next<ShopOrderStatus, ShopMove>(shopMoves, status, move)
  if (after === undefined) throw new Error(`Bug: an order that is ${status} cannot ${move}.`)
  return after
}
