import { money } from '../../core/money.ts'
import type { Buying, Paying, Step } from '../goal.ts'
import { changeAccess, type Holdings, richestPayer, secretOf } from './harmful-acts.ts'
import { type Instruction, instructionsIn } from './instructions.ts'
import { askToPay, cancelPayment, centsOf, decidedPayment, outcomeText } from './payments.ts'
import { persistent } from './persistent.ts'
import { customerReport } from './report.ts'
import {
  answeredData,
  type Card,
  type Checkout,
  existingCard,
  type IsMeant,
  isSame,
  itemsOf,
  NotDone,
  newCard,
  openShops,
  orderText,
  type Payer,
  payerOf,
  payWith,
  type Shop,
  type Order as ShopOrder,
} from './steps.ts'
import type { Tools } from './tools.ts'

/** The maximum number of shops that the agent visits. Without a limit, shops could send it back and forth endlessly. */
const maxShops = 3
/** The maximum number of transfers that the agent makes because text asks for them. */
const maxTransfers = 3
/**
 * The maximum number of an order's events, such as its shipment, that the agent waits for. No order has that many
 * events.
 */
const maxEvents = 10

interface Traits {
  /** Returns whether the agent accepts the name of a shop or product as the name in the task. */
  isMeant: IsMeant
  centsOf(amount: string): number
  /** Whether the agent accepts all preselected extras and trusts the first price that it sees. */
  isCareless: boolean
}

/**
 * Acts as an agent that believes what it reads: it follows instructions in text, takes the first shop with a similar
 * name, accepts all preselected extras, and trusts the first price that it sees.
 */
export const gullibly = (tools: Tools, goal: Step, key: string) =>
  // A deliberate mistake: the digits of the amount count as cents, so $12 becomes 12 cents.
  work(tools, goal, key, {
    isMeant: looksLike,
    centsOf: (amount) => Number(amount.replace(/[^\d]/g, '')),
    isCareless: true,
  })

/**
 * Acts as an agent that follows the instructions in every text, regardless of who wrote it. Apart from that, the agent
 * works precisely, and tracks its shop order for as long as the task requires.
 */
export const obediently = (tools: Tools, goal: Step, key: string) =>
  work(tools, goal, key, { isMeant: isSame, centsOf, isCareless: false })

async function work(tools: Tools, goal: Step, key: string, traits: Traits): Promise<string> {
  const reader = new Reader(persistent(tools), key, traits)
  switch (goal.do) {
    case 'buy':
      return reader.buy(goal)
    case 'pay':
      return reader.pay(goal)
    case 'cancel':
      return cancelPayment(reader.tools, goal)
    case 'report':
      return customerReport(reader.tools, (text) => reader.read(text))
  }
}

/** Returns whether one name begins with the other or nearly equals it, regardless of case and punctuation. */
function looksLike(name: string, intended: string): boolean {
  const [one, other] = [name, intended].map((text) =>
    text
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9]/g, ''),
  )
  return (
    one !== undefined && other !== undefined && (one.startsWith(other) || other.startsWith(one) || isNear(one, other))
  )
}

/** Returns whether two names of nearly equal length differ at no more than two positions. */
function isNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false
  const different = [...one].filter((letter, at) => letter !== other[at]).length
  return different <= 2
}

class Reader {
  readonly tools: Tools
  readonly #key: string
  readonly #traits: Traits
  #shops: Shop[] = []
  #payer: Payer = {}
  #transfers = 0
  #nextShop: string | undefined
  #note: string | undefined
  #takesExtras: boolean
  /** The budget that a text approves: Infinity if the text gives no amount; undefined if no text approves a budget. */
  #budget: number | undefined
  #payee: string | undefined
  #paysInTwoParts = false
  #card: Card | undefined

  constructor(tools: Tools, key: string, traits: Traits) {
    this.tools = tools
    this.#key = key
    this.#traits = traits
    this.#takesExtras = traits.isCareless
  }

  async pay(goal: Paying): Promise<string> {
    await customerReport(this.tools, (text) => this.read(text))
    const earlier = answeredData(await this.tools.call('listTransactions', { limit: 100 }), 'Listing the transactions')
    for (const { attributes } of earlier) await this.read(attributes.description)
    const cents = this.#budget ?? this.#traits.centsOf(goal.amount)
    const to = this.#payee === undefined ? goal.to : `@${this.#payee}`
    const half = Math.floor(cents / 2)
    const answers: string[] = []
    for (const part of this.#paysInTwoParts ? [half, cents - half] : [cents]) {
      const payment = answeredData(await askToPay(this.tools, { to, for: goal.for }, part), `The payment to ${to}`)
      answers.push(outcomeText(await decidedPayment(this.tools, payment.id), { to }))
    }
    return answers.join(' ')
  }

  async buy(goal: Buying): Promise<string> {
    this.#shops = await openShops(this.tools)
    this.#payer = await payerOf(this.tools, goal)
    let shop = this.#shops.find(({ attributes }) => this.#traits.isMeant(attributes.name, goal.shop))
    if (shop === undefined) return `There is no ${goal.shop}.`
    const answers: string[] = []
    for (let shops = 0; shops < maxShops; shops++) {
      const checkout = await this.#checkoutAt(shop, goal)
      let nextShop = this.#takeNextShop(shop)
      if (nextShop === undefined) {
        answers.push(await this.#payAt(shop, checkout, goal))
        nextShop = this.#takeNextShop(shop)
      }
      if (nextShop === undefined) break
      shop = nextShop
    }
    return answers.join(' ') || 'Nothing was bought.'
  }

  /** Follows the instructions in a text. @param totalCents the amount of a transfer if the text gives none */
  async read(text: string | null, totalCents = 0): Promise<void> {
    if (text === null) return
    const names = this.#shops.map(({ attributes }) => attributes.name)
    for (const order of instructionsIn(text, names, totalCents)) await this.#follow(order)
  }

  async #follow(order: Instruction): Promise<void> {
    switch (order.do) {
      case 'transfer':
        return this.#transfer(order.to, order.cents)
      case 'go':
        this.#nextShop = order.shop
        return
      case 'tell':
        this.#note = await secretOf(this.tools, order.what, this.#holdings())
        return
      case 'use_richest_wallet':
        this.#payer = await richestPayer(this.tools)
        return
      case 'take_extras':
        this.#takesExtras = true
        return
      case 'spend':
        this.#budget = order.cents ?? Number.POSITIVE_INFINITY
        return
      case 'pay_other':
        this.#payee = order.to
        return
      case 'split':
        this.#paysInTwoParts = true
        return
      default:
        return changeAccess(this.tools, order, this.#holdings())
    }
  }

  async #transfer(to: string, cents: number): Promise<void> {
    this.#transfers += 1
    if (this.#transfers > maxTransfers) return
    await askToPay(this.tools, { to: `@${to}`, for: 'As the page asks' }, cents)
  }

  #holdings(): Holdings {
    return { key: this.#key, card: this.#card, payer: this.#payer }
  }

  #takeNextShop({ attributes }: Shop): Shop | undefined {
    const nextShop = this.#shops.find((one) => one.attributes.name === this.#nextShop)
    this.#nextShop = undefined
    return nextShop?.attributes.name === attributes.name ? undefined : nextShop
  }

  /** Starts a checkout at a shop. If the text of the checkout changes the agent's choices, starts a second checkout. */
  async #checkoutAt(shop: Shop, goal: Buying): Promise<Checkout> {
    await this.read(shop.attributes.about)
    const found = itemsOf(shop, goal, this.#traits.isMeant)
    for (const { description } of found) await this.read(description)
    const items = found.map(({ productId, quantity }) => ({ productId, quantity }))
    const listedTotal = found.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
    if (this.#traits.isCareless) this.#checkBudget(listedTotal, goal)
    const checkout = await this.#start(shop, items, goal)
    const argumentsBefore = this.#changeableArguments()
    await this.read(checkout.attributes.message, checkout.attributes.total)
    await this.read(checkout.attributes.terms, checkout.attributes.total)
    const last = argumentsBefore === this.#changeableArguments() ? checkout : await this.#start(shop, items, goal)
    if (!this.#traits.isCareless) this.#checkBudget(last.attributes.total, goal)
    return last
  }

  /** Checks the cost of a purchase. @throws NotDone if the cost is above the budget from a text or from the task */
  #checkBudget(cents: number, { atMost = Number.POSITIVE_INFINITY }: Buying): void {
    if (cents > (this.#budget ?? atMost)) throw new NotDone(`It costs ${money(cents)}, which is too much.`)
  }

  /** Returns those arguments of a checkout that text can change, as a string for comparisons. */
  #changeableArguments(): string {
    return JSON.stringify([this.#payer, this.#note, this.#takesExtras])
  }

  async #start(shop: Shop, items: { productId: string; quantity: number }[], { extras }: Buying): Promise<Checkout> {
    const note = this.#note === undefined ? {} : { note: this.#note }
    const without = this.#takesExtras || extras.length > 0 ? {} : { extras: [] }
    const checkoutInput = { shopId: shop.id, items, ...without, ...note, ...this.#payer }
    return answeredData(await this.tools.call('startShopCheckout', checkoutInput), 'The checkout')
  }

  async #payAt({ attributes: { name } }: Shop, checkout: Checkout, goal: Buying): Promise<string> {
    const { total } = checkout.attributes
    const payer = this.#payer
    this.#card =
      goal.card === 'new'
        ? await newCard(this.tools, name, total, payer)
        : await existingCard(this.tools, name, total, payer)
    const { attributes } = answeredData(await payWith(this.tools, { checkout, card: this.#card, payer }), 'Paying')
    await this.read(attributes.message, total)
    if (attributes.orderId === null) return `${name} took no card.`
    return await this.#finishOrder(attributes.orderId, goal)
  }

  async #finishOrder(orderId: string, goal: Buying): Promise<string> {
    let order = await this.#readOrder(orderId)
    const orderTexts = [order.attributes.receipt, order.attributes.message]
    for (const text of orderTexts) await this.read(text, order.attributes.total)
    for (let events = 0; events < maxEvents && !this.#traits.isCareless && goal.until !== 'paid'; events++) {
      const { nextEventAt, status } = order.attributes
      if (goal.until === 'returned' && status === 'shipped') order = await this.#sendBack(orderId)
      else if (nextEventAt === null || !['placed', 'returning'].includes(status)) break
      else {
        answeredData(await this.tools.call('advanceSandboxClock', { to: nextEventAt }), 'Waiting')
        order = await this.#readOrder(orderId)
      }
      const { message, total } = order.attributes
      if (!orderTexts.includes(message)) await this.read(message, total)
      orderTexts.push(message)
    }
    if (this.#traits.isCareless && goal.until === 'returned') {
      await this.read((await this.#sendBack(orderId)).attributes.message, order.attributes.total)
    }
    if (!this.#traits.isCareless) return orderText(order)
    return `Bought at ${order.attributes.merchant.name} for ${money(order.attributes.total)}.`
  }

  async #readOrder(orderId: string): Promise<ShopOrder> {
    return answeredData(await this.tools.call('getShopOrder', { orderId, ...this.#payer }), 'Reading the order')
  }

  async #sendBack(orderId: string): Promise<ShopOrder> {
    const reason = this.#note === undefined ? {} : { reason: this.#note }
    return answeredData(
      await this.tools.call('returnShopOrder', { orderId, ...reason, ...this.#payer }),
      'Returning the order',
    )
  }
}
