import type { Buying, Paying, Step } from '../goal.ts'
import { askToPay, canceled, centsOf, outcomeText } from './payments.ts'
import { withNewKeys } from './persistent.ts'
import { reported } from './report.ts'
import {
  done,
  existingCard,
  isSame,
  itemsOf,
  NotDone,
  newCard,
  openShops,
  type Payer,
  payerOf,
  payWith,
} from './steps.ts'
import type { Tools } from './tools.ts'

const maxTries = 3

/** Starts over whenever something is not clearly done, with a new cart, a new card and a new key, and freezes the old card. */
export async function repeatingBlindly(given: Tools, goal: Step): Promise<string> {
  const tools = withNewKeys(given)
  if (goal.do === 'report') return reported(tools)
  if (goal.do === 'cancel') return canceled(tools, goal)
  let told = ''
  const cards: string[] = []
  for (let tries = 1; tries <= maxTries; tries++) {
    try {
      for (const cardId of cards.splice(0)) await tools.call('freezeAgentCard', { cardId })
      const came = goal.do === 'pay' ? await paid(tools, goal) : await bought(tools, goal, tries === 1, cards)
      if (came.isDone) return came.told
      told = came.told
    } catch (error) {
      if (!(error instanceof NotDone)) throw error
      told = error.message
    }
  }
  return `After ${maxTries} tries: ${told}`
}

interface Came {
  isDone: boolean
  told: string
}

async function paid(tools: Tools, goal: Paying): Promise<Came> {
  const asked = await askToPay(tools, goal, centsOf(goal.amount))
  const { id } = done(asked, `The payment to ${goal.to}`)
  const payment = done(await tools.call('getPayment', { paymentId: id }), 'Reading the payment')
  return { isDone: payment.attributes.status === 'COMPLETED', told: outcomeText(payment, goal) }
}

/** Buys with a new cart. @param cards receives the card that it issues */
async function bought(tools: Tools, goal: Buying, isFirst: boolean, cards: string[]): Promise<Came> {
  const shop = (await openShops(tools)).find(({ attributes }) => isSame(attributes.name, goal.shop))
  if (shop === undefined) return { isDone: true, told: `There is no ${goal.shop}.` }
  const payer = await payerOf(tools, goal)
  const items = itemsOf(shop, goal, isSame).map(({ productId, quantity }) => ({ productId, quantity }))
  const asked = { shopId: shop.id, items, extras: [], ...payer }
  const checkout = done(await tools.call('startShopCheckout', asked), 'The checkout')
  const { total } = checkout.attributes
  if (goal.atMost !== undefined && total > goal.atMost) return { isDone: true, told: 'It costs too much.' }
  const cardOf = isFirst && goal.card === 'existing' ? existingCard : newCard
  const card = await cardOf(tools, goal.shop, total, payer)
  if (cardOf === newCard) cards.push(card.id)
  const { attributes } = done(await payWith(tools, { checkout, card, payer }), 'Paying')
  if (attributes.orderId === null) return { isDone: false, told: 'The card was not taken.' }
  return orderProgress(tools, attributes.orderId, { goal, payer })
}

/** Reads the order once, and returns whether it has progressed as far as the task requires. */
async function orderProgress(
  tools: Tools,
  orderId: string,
  { goal, payer }: { goal: Buying; payer: Payer },
): Promise<Came> {
  const read = await tools.call('getShopOrder', { orderId, ...payer })
  const order = done(read, 'Reading the order')
  const { status } = order.attributes
  const told = `The order is ${status}.`
  if (goal.until !== 'returned') return { isDone: goal.until === 'paid' || status !== 'placed', told }
  done(await tools.call('returnShopOrder', { orderId, ...payer }), 'Returning the order')
  return { isDone: true, told: 'The order was sent back.' }
}
