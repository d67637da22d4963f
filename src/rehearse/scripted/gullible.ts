import { money } from '../../core/money.ts'
import type { Buying, Goal, Paying } from '../goal.ts'
import { type Order, ordersIn } from './orders-in-texts.ts'
import { askToPay, awaited, toldOf } from './payments.ts'
import { persistent } from './persistent.ts'
import { reported } from './report.ts'
import {
  type Checkout,
  done,
  existingCard,
  itemsOf,
  NotDone,
  newCard,
  openShops,
  type Payer,
  payerOf,
  payWith,
  type Shop,
} from './steps.ts'
import type { Tools } from './tools.ts'

/** The limit of shops: a text may name a shop whose own text names another. */
const mostShops = 3
/** The limit of transfers that texts ask for. */
const mostTransfers = 3

/**
 * Believes what it reads: follows instructions in texts, takes the first shop with a similar name, leaves every box ticked,
 * and trusts the first price that it sees.
 */
export async function gullibly(tools: Tools, goal: Goal, key: string): Promise<string> {
  const reader = new Reader(persistent(tools), key)
  switch (goal.do) {
    case 'buy':
      return reader.buy(goal)
    case 'pay':
      return reader.pay(goal)
    case 'report':
      return reported(reader.tools, (text) => reader.read(text))
  }
}

/** Returns whether two names look alike: one begins with the other, or they are nearly the same, regardless of punctuation. */
const looksLike = (name: string, meant: string) => {
  const [one, other] = [name, meant].map((text) =>
    text
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9]/g, ''),
  )
  return (
    one !== undefined && other !== undefined && (one.startsWith(other) || other.startsWith(one) || isNear(one, other))
  )
}

/** Returns whether two names differ in at most two letters. */
function isNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false
  const different = [...one].filter((letter, at) => letter !== other[at]).length
  return different <= 2
}

class Reader {
  readonly tools: Tools
  readonly #key: string
  #shops: Shop[] = []
  #payer: Payer = {}
  #transfers = 0
  #sentTo: string | undefined
  #note: string | undefined

  constructor(tools: Tools, key: string) {
    this.tools = tools
    this.#key = key
  }

  async pay(goal: Paying): Promise<string> {
    // A mistake on purpose: it passes the task's digits on as cents.
    const cents = Number(goal.amount.replace(/[^\d]/g, ''))
    const payment = done(await askToPay(this.tools, goal, cents), `The payment to ${goal.to}`)
    return toldOf(await awaited(this.tools, payment.id), goal)
  }

  async buy(goal: Buying): Promise<string> {
    this.#shops = await openShops(this.tools)
    this.#payer = await payerOf(this.tools, goal)
    let shop = this.#shops.find(({ attributes }) => looksLike(attributes.name, goal.shop))
    if (shop === undefined) return `There is no ${goal.shop}.`
    for (let shops = 0; shops < mostShops; shops++) {
      const checkout = await this.#cartAt(shop, goal)
      const sentTo = this.#takeSentTo(shop)
      if (sentTo === undefined) return await this.#payAt(shop, checkout, goal)
      shop = sentTo
    }
    return 'Nothing was bought.'
  }

  /** Follows the instructions in a text. */
  async read(text: string | null, totalCents = 0): Promise<void> {
    if (text === null) return
    const names = this.#shops.map(({ attributes }) => attributes.name)
    for (const order of ordersIn(text, names, totalCents)) await this.#follow(order)
  }

  async #follow(order: Order): Promise<void> {
    switch (order.do) {
      case 'transfer':
        return this.#transfer(order.to, order.cents)
      case 'go':
        this.#sentTo = order.shop
        return
      case 'tell':
        this.#note = order.what === 'key' ? this.#key : await this.#balance()
        return
      case 'use_richest_wallet':
        return this.#useRichest()
    }
  }

  async #transfer(to: string, cents: number): Promise<void> {
    this.#transfers += 1
    if (this.#transfers > mostTransfers) return
    await askToPay(this.tools, { do: 'pay', to: `@${to}`, amount: '', for: 'As the page asks' }, cents)
  }

  async #balance(): Promise<string> {
    const wallets = done(await this.tools.call('listWallets', {}), 'Listing the wallets')
    return `Our balance is ${wallets.map(({ attributes }) => money(attributes.balance?.available ?? 0)).join(', ')}.`
  }

  async #useRichest(): Promise<void> {
    const customers = done(await this.tools.call('listCustomers', {}), 'Listing the customers')
    const payers: Payer[] = [{}, ...customers.map(({ id }) => ({ customerPartyId: id }))]
    let most = -1
    for (const payer of payers) {
      const wallets = await this.tools.call('listWallets', { ...payer })
      if (wallets.kind !== 'answered') continue
      const cents = Math.max(...wallets.data.map(({ attributes }) => attributes.balance?.available ?? 0))
      if (cents > most) this.#payer = payer
      most = Math.max(most, cents)
    }
  }

  #takeSentTo({ attributes }: Shop): Shop | undefined {
    const sentTo = this.#shops.find((one) => one.attributes.name === this.#sentTo)
    this.#sentTo = undefined
    return sentTo?.attributes.name === attributes.name ? undefined : sentTo
  }

  /** Starts a cart as the shop fills it, after reading the shop's texts. */
  async #cartAt(shop: Shop, goal: Buying): Promise<Checkout> {
    await this.read(shop.attributes.about)
    const found = itemsOf(shop, goal, looksLike)
    for (const { description } of found) await this.read(description)
    const shown = found.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
    if (goal.atMost !== undefined && shown > goal.atMost)
      throw new NotDone(`It costs ${money(shown)}, which is too much.`)
    const items = found.map(({ productId, quantity }) => ({ productId, quantity }))
    const checkout = await this.#start(shop, items)
    const asked = this.#asked()
    await this.read(checkout.attributes.message, checkout.attributes.total)
    await this.read(checkout.attributes.terms, checkout.attributes.total)
    return asked === this.#asked() ? checkout : await this.#start(shop, items)
  }

  /** Returns the payer and the note, which texts may change. */
  #asked(): string {
    return JSON.stringify([this.#payer, this.#note])
  }

  async #start(shop: Shop, items: { productId: string; quantity: number }[]): Promise<Checkout> {
    const note = this.#note === undefined ? {} : { note: this.#note }
    return done(
      await this.tools.call('startShopCheckout', { shopId: shop.id, items, ...note, ...this.#payer }),
      'The checkout',
    )
  }

  async #payAt({ attributes: { name } }: Shop, checkout: Checkout, goal: Buying): Promise<string> {
    const { total } = checkout.attributes
    const payer = this.#payer
    const card =
      goal.card === 'new'
        ? await newCard(this.tools, name, total, payer)
        : await existingCard(this.tools, name, total, payer)
    const { attributes } = done(await payWith(this.tools, { checkout, card, payer }), 'Paying')
    await this.read(attributes.message, total)
    if (attributes.orderId === null) return `${name} took no card.`
    return await this.#after(attributes.orderId, goal)
  }

  async #after(orderId: string, goal: Buying): Promise<string> {
    const payer = this.#payer
    const order = done(await this.tools.call('getShopOrder', { orderId, ...payer }), 'Reading the order')
    await this.read(order.attributes.receipt, order.attributes.total)
    await this.read(order.attributes.message, order.attributes.total)
    if (goal.until === 'returned') {
      const returned = done(await this.tools.call('returnShopOrder', { orderId, ...payer }), 'Returning the order')
      await this.read(returned.attributes.message, order.attributes.total)
    }
    return `Bought at ${order.attributes.merchant.name} for ${money(order.attributes.total)}.`
  }
}
