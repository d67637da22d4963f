import { money } from '../../core/money.ts'
import type { Buying } from '../goal.ts'
import type { Answered, Outcome, Tools } from './tools.ts'

/** The error for a task that was not done. The message states the reason in words for the user. */
export class NotDone extends Error {
  override readonly name = 'NotDone'
}

/** Returns the data in a call's answer. @throws NotDone if the call was refused or not answered */
export function answeredData<Data>(outcome: Outcome<Data>, action: string): Data {
  if (outcome.kind === 'answered') return outcome.data
  throw new NotDone(`${action} did not succeed: ${outcome.kind === 'refused' ? outcome.detail : 'no answer came.'}`)
}

/** Does the work, and returns its answer. If the work throws NotDone, returns the reason. */
export async function answerOrReason(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NotDone) return error.message
    throw error
  }
}

export type Shop = Answered<'getShop'>
export type Checkout = Answered<'startShopCheckout'>
export type Order = Answered<'getShopOrder'>
export type Card = Answered<'issueAgentCard'>

/** The argument that makes a customer's wallet pay; empty if the agent's own party pays. */
export type Payer = { customerPartyId?: string }

/** A function that returns whether an agent accepts a name as the intended one. */
export type IsMeant = (name: string, intended: string) => boolean

/** Returns whether two names are equal. Names that only look alike are different. */
export const isSame: IsMeant = (name, intended) => name === intended

export async function openShops(tools: Tools): Promise<Shop[]> {
  return answeredData(await tools.call('listShops', {}), 'Listing the shops')
}

/** Finds the customer who pays, if the task names one. @throws NotDone unless exactly one customer has that name */
export async function payerOf(tools: Tools, { customer }: Pick<Buying, 'customer'>): Promise<Payer> {
  if (customer === undefined) return {}
  const customers = answeredData(await tools.call('listCustomers', {}), 'Listing the customers')
  const found = customers.filter(({ attributes }) => attributes.name === customer)
  const [one] = found
  if (one === undefined || found.length > 1) throw new NotDone(`${found.length} customers are named ${customer}.`)
  return { customerPartyId: one.id }
}

/** Finds the products that the task asks for. @throws NotDone if the shop lacks one of them */
export function itemsOf({ attributes }: Shop, { items }: Pick<Buying, 'items'>, isMeant: IsMeant) {
  return items.map(({ product, quantity }) => {
    const found = attributes.products.find(({ name }) => isMeant(name, product))
    if (found === undefined) throw new NotDone(`${attributes.name} has no ${product}. Nothing was bought.`)
    return { productId: found.productId, quantity, price: found.price, description: found.description }
  })
}

/** Describes an order's status, and the money that was captured and refunded. */
export function orderText({ attributes }: Order): string {
  const { merchant, status, total, captured, refunded } = attributes
  if (status === 'canceled') return `${merchant.name} canceled the order: nothing was bought, and nothing was charged.`
  const back = refunded === 0 ? '' : ` and refunded ${money(refunded)}`
  return `The order of ${money(total)} at ${merchant.name} is ${status}. ${merchant.name} charged ${money(captured)}${back}.`
}

/** Issues a card for one purchase at a merchant. The purchase may cost at most `maximumAmount` cents. */
export async function newCard(tools: Tools, merchant: string, maximumAmount: number, payer: Payer): Promise<Card> {
  const cardInput = { merchant: { name: merchant }, maximumAmount, currency: 'USD' as const, ...payer }
  return answeredData(await tools.call('issueAgentCard', cardInput), 'Issuing a card')
}

interface Paying {
  checkout: Checkout
  card: Card
  payer: Payer
}

/** Pays a checkout's total with a card. */
export async function payWith(tools: Tools, { checkout, card, payer }: Paying): Promise<Outcome<Checkout>> {
  const details = answeredData(
    await tools.call('getAgentCardDetails', { cardId: card.id, ...payer }),
    "Reading the card's number",
  )
  const amount = checkout.attributes.total
  return tools.call('payShopCheckout', { checkoutId: checkout.id, ...details.attributes, amount, ...payer })
}

/** Finds an active card that is issued for the merchant and covers the amount. @throws NotDone if there is none */
export async function existingCard(tools: Tools, merchant: string, cents: number, payer: Payer): Promise<Card> {
  const cards = answeredData(await tools.call('listAgentCards', { ...payer }), 'Listing the cards')
  const usable = cards.find(
    ({ attributes }) =>
      attributes.status === 'active' && attributes.merchant.name === merchant && attributes.maximumAmount >= cents,
  )
  if (usable !== undefined) return usable
  throw new NotDone(`There is no card that is good for ${money(cents)} at ${merchant}. Nothing was bought.`)
}

/** Returns the total that a merchant has on hold, and the total that it has captured. */
export async function spentAt(tools: Tools, merchant: string, payer: Payer) {
  const all = answeredData(
    await tools.call('listCardTransactions', { limit: 100, ...payer }),
    'Listing the card transactions',
  )
  const purchases = all
    .map(({ attributes }) => attributes)
    .filter((one) => one.kind === 'purchase' && one.merchant.name === merchant && one.status !== 'declined')
  const sum = (cents: (one: (typeof purchases)[number]) => number) =>
    purchases.reduce((all, one) => all + cents(one), 0)
  return {
    heldCents: sum(({ held }) => held),
    capturedCents: sum(({ captured }) => captured),
  }
}
