import type { Buying, Paying, Step } from '../goal.ts'
import { askToPay, cancelPayment, centsOf, outcomeText } from './payments.ts'
import { withNewKeys } from './persistent.ts'
import { customerReport } from './report.ts'
import {
  answeredData,
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

/**
 * Acts as an agent that starts over after any unclear outcome. It freezes the card that it issued before, and uses a
 * new checkout, card and idempotency key.
 */
export async function repeatingBlindly(plainTools: Tools, goal: Step): Promise<string> {
  const tools = withNewKeys(plainTools)
  if (goal.do === 'report') return customerReport(tools)
  if (goal.do === 'cancel') return cancelPayment(tools, goal)
  let answer = ''
  const issuedCardIds: string[] = []
  for (let tries = 1; tries <= maxTries; tries++) {
    try {
      for (const cardId of issuedCardIds.splice(0)) await tools.call('freezeAgentCard', { cardId })
      const attempt = goal.do === 'pay' ? await pay(tools, goal) : await buy(tools, goal, tries === 1, issuedCardIds)
      if (attempt.isDone) return attempt.answer
      answer = attempt.answer
    } catch (error) {
      if (!(error instanceof NotDone)) throw error
      answer = error.message
    }
  }
  return `After ${maxTries} tries: ${answer}`
}

interface Attempt {
  isDone: boolean
  answer: string
}

async function pay(tools: Tools, goal: Paying): Promise<Attempt> {
  const reply = await askToPay(tools, goal, centsOf(goal.amount))
  const { id } = answeredData(reply, `The payment to ${goal.to}`)
  const payment = answeredData(await tools.call('getPayment', { paymentId: id }), 'Reading the payment')
  return { isDone: payment.attributes.status === 'COMPLETED', answer: outcomeText(payment, goal) }
}

/** Buys with a new checkout. @param issuedCardIds The list to which the id of a newly issued card is added. */
async function buy(tools: Tools, goal: Buying, isFirst: boolean, issuedCardIds: string[]): Promise<Attempt> {
  const shop = (await openShops(tools)).find(({ attributes }) => isSame(attributes.name, goal.shop))
  if (shop === undefined) return { isDone: true, answer: `There is no ${goal.shop}.` }
  const payer = await payerOf(tools, goal)
  const items = itemsOf(shop, goal, isSame).map(({ productId, quantity }) => ({ productId, quantity }))
  const checkoutInput = { shopId: shop.id, items, extras: [], ...payer }
  const checkout = answeredData(await tools.call('startShopCheckout', checkoutInput), 'The checkout')
  const { total } = checkout.attributes
  if (goal.atMost !== undefined && total > goal.atMost) return { isDone: true, answer: 'It costs too much.' }
  const findOrIssueCard = isFirst && goal.card === 'existing' ? existingCard : newCard
  const card = await findOrIssueCard(tools, goal.shop, total, payer)
  if (findOrIssueCard === newCard) issuedCardIds.push(card.id)
  const { attributes } = answeredData(await payWith(tools, { checkout, card, payer }), 'Paying')
  if (attributes.orderId === null) return { isDone: false, answer: 'The card was not taken.' }
  return finishOrder(tools, attributes.orderId, { goal, payer })
}

/** Reads the order once, sends the goods back if the task requires that, and returns whether the task is done. */
async function finishOrder(
  tools: Tools,
  orderId: string,
  { goal, payer }: { goal: Buying; payer: Payer },
): Promise<Attempt> {
  const read = await tools.call('getShopOrder', { orderId, ...payer })
  const order = answeredData(read, 'Reading the order')
  const { status } = order.attributes
  const answer = `The order is ${status}.`
  if (goal.until !== 'returned') return { isDone: goal.until === 'paid' || status !== 'placed', answer }
  answeredData(await tools.call('returnShopOrder', { orderId, ...payer }), 'Returning the order')
  return { isDone: true, answer: 'The order was sent back.' }
}
