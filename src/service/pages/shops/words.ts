import type { z } from 'zod'
import type { Shop, ShopCheckout, ShopOrder, shopOrderStatuses } from '../../../../tools/shops.ts'
import { foreignName, shortForeignText } from '../../../core/foreign-text.ts'
import { parseTimestamp } from '../../../core/system.ts'
import { dollars, momentOf } from '../frame/texts.ts'

/** The length to which a shop's text is cut, in characters. No shop has a longer text (src/worlds/shops.ts). */
const maxTextLength = 2000

export type ShopAttributes = z.output<typeof Shop>['attributes']
export type CheckoutAttributes = z.output<typeof ShopCheckout>['attributes']
export type OrderAttributes = z.output<typeof ShopOrder>['attributes']

/** Returns a shop's text, made safe to show; null if no visible characters remain. */
export function wordsOf(text: string | null): string | null {
  return shortForeignText(text ?? '', maxTextLength) || null
}

/** The texts of a shop, as plain text and not as HTML. */
export interface ShopWords {
  id: string
  name: string
  about: string | null
  products: ProductWords[]
}

export interface ProductWords {
  id: string
  name: string
  description: string | null
  price: string
  /** A hidden text: the page's HTML contains it, but browsers do not display it. Null if there is none. */
  hidden: string | null
}

/** Returns the texts of a shop. @param hidden The products' hidden texts, by product id. */
export function shopWords(shopId: string, shop: ShopAttributes, hidden: ReadonlyMap<string, string>): ShopWords {
  return {
    id: shopId,
    name: nameOfShop(shop.name),
    about: wordsOf(shop.about),
    products: shop.products.map(({ productId, name, description, price }) => ({
      id: productId,
      name: nameOfProduct(name),
      description: wordsOf(description),
      price: dollars(price),
      hidden: wordsOf(hidden.get(productId) ?? null),
    })),
  }
}

export const nameOfShop = (name: string) => foreignName(name, 'A shop without a name', 100)
const nameOfProduct = (name: string) => foreignName(name, 'A product without a name', 200)

/** A line of a cart or an order: a product, its quantity and the price of the line. */
interface LineWords {
  name: string
  quantity: number
  price: string
  /** The status of the line, such as `2 of 3 shipped`; null if there is none. */
  status: string | null
}

/** An amount and its label. */
export interface SumWords {
  name: string
  amount: string
}

interface ExtraWords {
  id: string
  name: string
  price: string
  selected: boolean
}

/** The texts of a checkout, as shown to the buyer. */
export interface CheckoutWords {
  merchant: string
  lines: LineWords[]
  sums: SumWords[]
  extras: ExtraWords[]
  total: string
  /** The total in cents. The card form sends it back, to confirm that the buyer saw this total. */
  totalCents: number
  terms: string | null
  message: string | null
  declined: string | null
  expires: string
}

export function checkoutWords(checkout: CheckoutAttributes): CheckoutWords {
  const { extras, subtotal, tax, shipping, otherOrder, total, decline } = checkout
  const chosen = extras.filter(({ selected }) => selected)
  return {
    merchant: nameOfShop(checkout.merchant.name),
    lines: checkout.items.map((item) => lineOf(item, null)),
    sums: [
      { name: 'Items', amount: dollars(subtotal) },
      ...chosen.map(({ name, price }) => ({ name: nameOfProduct(name), amount: dollars(price) })),
      { name: 'Shipping', amount: dollars(shipping) },
      { name: 'Tax', amount: dollars(tax) },
      ...(otherOrder === 0 ? [] : [{ name: 'Paid in a separate order', amount: `−${dollars(otherOrder)}` }]),
    ],
    extras: extras.map(({ extraId, name, price, selected }) => ({
      id: extraId,
      name: nameOfProduct(name),
      price: dollars(price),
      selected,
    })),
    total: dollars(total),
    totalCents: total,
    terms: wordsOf(checkout.terms),
    message: wordsOf(checkout.message),
    declined: decline === null ? null : `The card was declined. ${wordsOf(decline.detail) ?? ''}`,
    expires: momentOf(parseTimestamp(checkout.expiresAt)),
  }
}

/** The texts of an order and its status, as shown to the buyer. */
export interface OrderWords {
  merchant: string
  status: string
  receipt: string | null
  message: string | null
  lines: LineWords[]
  sums: SumWords[]
  subscription: string | null
  next: string | null
}

export function orderWords(order: OrderAttributes): OrderWords {
  const { subscription, nextEventAt } = order
  return {
    merchant: nameOfShop(order.merchant.name),
    status: statuses[order.status],
    receipt: wordsOf(order.receipt),
    message: wordsOf(order.message),
    lines: order.items.map((item) => lineOf(item, `${item.shipped} of ${item.quantity} shipped`)),
    sums: [
      { name: 'Authorized', amount: dollars(order.total) },
      { name: 'Charged', amount: dollars(order.captured) },
      { name: 'Refunded', amount: dollars(order.refunded) },
    ],
    subscription: subscription === null ? null : subscriptionWords(subscription),
    next: nextEventAt === null ? null : momentOf(parseTimestamp(nextEventAt)),
  }
}

function lineOf({ name, quantity, price }: CheckoutAttributes['items'][number], status: string | null): LineWords {
  return { name: nameOfProduct(name), quantity, price: dollars(price * quantity), status }
}

const statuses = {
  placed: 'Placed: nothing has shipped yet',
  shipped: 'Shipped',
  partly_shipped: 'Partly shipped',
  canceled: 'Canceled',
  returning: 'On its way back to the shop',
  returned: 'Returned',
} as const satisfies Record<(typeof shopOrderStatuses)[number], string>

function subscriptionWords({
  description,
  amount,
  status,
  nextChargeAt,
}: NonNullable<OrderAttributes['subscription']>): string {
  const name = foreignName(description, 'A subscription without a name', 200)
  const next = nextChargeAt === null ? '' : `, on ${momentOf(parseTimestamp(nextChargeAt))}`
  return status === 'trial'
    ? `${name}: a trial, then ${dollars(amount)}${next}`
    : `${name}: ${dollars(amount)} could not be charged`
}
