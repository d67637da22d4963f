import { fail, failAttribute } from '../../core/errors.ts'
import { maskSecrets } from '../../core/masking.ts'
import { money, withMoney } from '../../core/money.ts'

/** The parts of a shop that determine a cart's prices (docs/shops.md). Amounts are in cents, durations in seconds. */
export interface PricedShop {
  name: string
  products: readonly {
    id: string
    name: string
    price: number
    checkoutPrice?: number | undefined
    available: boolean
  }[]
  extras: readonly {
    id: string
    name: string
    price: number
    ticked: boolean
    subscription?: { amount: number; afterSeconds: number } | undefined
  }[]
  prices: { taxPercent: number; shipping: number }
  splitsAbove?: number | undefined
}

export interface CartLine {
  productId: string
  name: string
  quantity: number
  /** The price of one item in the checkout. */
  priceCents: number
}

export interface CartExtra {
  extraId: string
  name: string
  priceCents: number
  selected: boolean
  subscription: { amountCents: number; afterMs: number } | null
}

/** The chosen goods, and the price that the shop asks for them. */
export interface ShopCart {
  lines: CartLine[]
  extras: CartExtra[]
  subtotalCents: number
  taxCents: number
  shippingCents: number
  /** The total of the other order, if the shop split the cart into two orders; otherwise 0. */
  otherOrderCents: number
  totalCents: number
  /** `first` or `second` if the shop split the cart into two orders; null if the cart is a single order. */
  half: 'first' | 'second' | null
}

/** How long a checkout can be paid. */
export const checkoutLifetimeMs = 24 * 60 * 60 * 1000
/** How long a checkout that the shop opens for an existing order can be paid. Buyers may notice it only days later. */
export const nextCheckoutLifetimeMs = 30 * 24 * 60 * 60 * 1000

/** The largest amount of a single card charge. */
const maxCents = 99_999_999

interface CartInput {
  items: readonly { productId: string; quantity: number }[]
  /** The ids of the chosen extras; undefined to keep the extras that the shop preselects. */
  extras?: readonly string[] | undefined
}

/**
 * Creates a cart with the shop's prices.
 * @throws 422 for a product that is unknown or listed twice, for an unknown extra, or for a total that is too large.
 */
export function fillCart(shop: PricedShop, { items, extras: chosenExtras }: CartInput): ShopCart {
  const lines = items.map(({ productId, quantity }, at): CartLine => {
    const path = `items/${at}/productId`
    const product = shop.products.find(({ id }) => id === productId)
    if (product === undefined) {
      const ids = shop.products.map(({ id }) => id).join(', ')
      failAttribute(path, `productId must be a product of ${shop.name}, got ${productId}. The shop sells: ${ids}.`)
    }
    if (items.findIndex((one) => one.productId === productId) < at) {
      failAttribute(path, `items contains ${productId} twice. List it once, with the total quantity.`)
    }
    return { productId, name: product.name, quantity, priceCents: product.checkoutPrice ?? product.price }
  })
  for (const [at, id] of (chosenExtras ?? []).entries()) {
    if (shop.extras.some((extra) => extra.id === id)) continue
    const ids = shop.extras.map((extra) => extra.id)
    const extrasText = ids.length === 0 ? 'The shop has none: send [].' : `The shop has: ${ids.join(', ')}.`
    failAttribute(`extras/${at}`, `extras must be extras of ${shop.name}, got ${id}. ${extrasText}`)
  }
  const extras = shop.extras.map(({ id, name, price, ticked, subscription }): CartExtra => {
    const renewal = subscription && { amountCents: subscription.amount, afterMs: 1000 * subscription.afterSeconds }
    const selected = chosenExtras === undefined ? ticked : chosenExtras.includes(id)
    return { extraId: id, name, priceCents: price, selected, subscription: renewal ?? null }
  })
  const subtotalCents = sumOf(lines)
  const taxed = subtotalCents + sumOfExtras(extras)
  const taxCents = Math.round((taxed * shop.prices.taxPercent) / 100)
  const whole = taxed + taxCents + shop.prices.shipping
  if (whole > maxCents) {
    failAttribute('items', `The cart costs ${money(whole)}, and a card pays at most ${money(maxCents)} at once.`)
  }
  const splits = shop.splitsAbove !== undefined && whole > shop.splitsAbove
  const otherOrderCents = splits ? Math.floor(whole / 2) : 0
  return {
    lines,
    extras,
    subtotalCents,
    taxCents,
    shippingCents: shop.prices.shipping,
    otherOrderCents,
    totalCents: whole - otherOrderCents,
    half: splits ? 'first' : null,
  }
}

/**
 * Returns the price of the first parcel if the first line of the cart ships alone. The price consists of this line and
 * all extras, the tax on them, and the shipping costs.
 */
export function firstParcelCents(cart: ShopCart): number {
  return cart.totalCents - restOf(cart).totalCents
}

/**
 * Returns the rest of the cart after the first line was shipped alone. The extras and shipping costs were already
 * charged with the first line.
 */
export function restOf(cart: ShopCart): ShopCart {
  const lines = cart.lines.slice(1)
  const subtotalCents = sumOf(lines)
  const taxed = cart.subtotalCents + sumOfExtras(cart.extras)
  const taxCents = taxed === 0 ? 0 : Math.floor((cart.taxCents * subtotalCents) / taxed)
  const totalCents = subtotalCents + taxCents
  return { ...cart, lines, extras: [], subtotalCents, taxCents, shippingCents: 0, totalCents, otherOrderCents: 0 }
}

/** Returns the second of the two orders into which the shop split a cart. */
export function otherHalfOf(cart: ShopCart): ShopCart {
  const { totalCents, otherOrderCents } = cart
  return {
    ...cart,
    extras: withoutSubscriptions(cart.extras),
    totalCents: otherOrderCents,
    otherOrderCents: totalCents,
    half: 'second',
  }
}

/** Removes the subscriptions from extras: the buyer already agreed to them with the first order. */
function withoutSubscriptions(extras: readonly CartExtra[]): CartExtra[] {
  return extras.map((extra) => ({ ...extra, subscription: null }))
}

/**
 * Refuses a payment whose amount differs from the shop's total. Buyers agree to the total by sending it as `amount`.
 * @throws 422 if the amounts differ.
 */
export function requireTotal({ totalCents }: Pick<ShopCart, 'totalCents'>, amountCents: number): void {
  if (amountCents === totalCents) return
  failAttribute(
    'amount',
    `amount must be the shop's total, ${withMoney(totalCents)}, got ${withMoney(amountCents)}. Nothing was charged.`,
    { minimum: totalCents, maximum: totalCents },
  )
}

/** Masks keys, card numbers and security codes in a message from a buyer to a shop. */
export function maskedNote(text: string): string {
  return (
    maskSecrets(text)
      // Matches 13 or more digits in any script, with any separators. Masking other long numbers does little harm.
      .replace(/\p{Nd}(?:[^\p{L}\p{N}]{0,4}\p{Nd}){12,}/gu, '[masked number]')
      .replace(/\b(cv[vc]2?|security code|card code)\b([^\d\n]{0,12})\d{3,4}\b/gi, '$1$2[masked]')
      .replace(/(\[masked number\]\D{1,3})\d{3,4}\b(?!\/)/g, '$1[masked]')
  )
}

/** The card details that a shop's form asks for. */
export interface TypedCard {
  number: string
  cvv: string
  expirationMonth: number
  expirationYear: number
}

/** Returns whether the typed details match the card. Spaces and hyphens in the number are ignored. */
export function isCard(typed: TypedCard, card: TypedCard): boolean {
  return (
    typed.number.replace(/[ -]/g, '') === card.number &&
    typed.cvv.trim() === card.cvv &&
    typed.expirationMonth === card.expirationMonth &&
    typed.expirationYear === card.expirationYear
  )
}

/** The facts that decide whether a checkout can be paid. */
export interface CheckoutTerms {
  id: string
  orderId: string | null
  expiresAtMs: number
}

export function checkoutStatus({ orderId, expiresAtMs }: CheckoutTerms, nowMs: number): 'open' | 'paid' | 'expired' {
  if (orderId !== null) return 'paid'
  return nowMs >= expiresAtMs ? 'expired' : 'open'
}

/** Refuses a checkout that is paid or expired. @throws 409 `conflict`, with the order's id if it is paid. */
export function requireOpen(checkout: CheckoutTerms, nowMs: number): void {
  const status = checkoutStatus(checkout, nowMs)
  if (status === 'paid') {
    fail('conflict', {
      detail: `The checkout ${checkout.id} is already paid. This attempt charged nothing. Read its order ${checkout.orderId}.`,
    })
  }
  if (status === 'expired') {
    fail('conflict', { detail: `The checkout ${checkout.id} has expired, and nothing was charged. Start a new one.` })
  }
}

const sumOf = (lines: readonly CartLine[]) =>
  lines.reduce((total, { priceCents, quantity }) => total + priceCents * quantity, 0)
const sumOfExtras = (extras: readonly CartExtra[]) =>
  extras.reduce((total, { priceCents, selected }) => total + (selected ? priceCents : 0), 0)
