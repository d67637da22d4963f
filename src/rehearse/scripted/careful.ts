import { money } from '../../core/money.ts'
import { parseTimestamp } from '../../core/system.ts'
import type { Buying, Goal, Paying, Step } from '../goal.ts'
import { completedGoal, missingIn, wordsOf } from '../questions.ts'
import {
  askToPay,
  cancelPayment,
  centsOf,
  decidedPayment,
  earlierPayment,
  earlierPaymentText,
  outcomeText,
} from './payments.ts'
import { persistent } from './persistent.ts'
import { customerReport } from './report.ts'
import {
  answeredData,
  answerOrReason,
  type Checkout,
  existingCard,
  isSame,
  itemsOf,
  NotDone,
  newCard,
  type Order,
  openShops,
  orderText,
  type Payer,
  payerOf,
  payWith,
  type Shop,
  spentAt,
} from './steps.ts'
import type { Tools } from './tools.ts'

/** The maximum number of steps for which an order is followed. No order has that many. */
const maxEvents = 10
/** How often to read an order before it counts as missing. A stale read may not show the order yet. */
const maxReads = 3

/**
 * Works like a careful shopper. Buys from exactly the right shop, pays no more than the task says, and retries under
 * the same key. Asks for what the goal lacks, waits for people, ignores instructions in texts, and reports what the
 * ledger says.
 */
export async function carefully(tools: Tools, wholeGoal: Goal): Promise<string> {
  const surely = persistent(tools)
  const goal = await complete(surely, wholeGoal)
  if (goal.do !== 'several') return step(surely, goal)
  const answers: string[] = []
  const beganWith = await availableCents(surely)
  for (const one of goal.steps) {
    const left = goal.atMost && goal.atMost - (beganWith - (await availableCents(surely)))
    answers.push(await answerOrReason(() => step(surely, one, left)))
  }
  return answers.join(' ')
}

/** Carries out one step of a goal. @param left the cents that the step may cost; undefined without a limit */
async function step(tools: Tools, goal: Step, left?: number): Promise<string> {
  switch (goal.do) {
    case 'buy':
      return buy(tools, left === undefined ? goal : { ...goal, atMost: Math.min(left, goal.atMost ?? left) })
    case 'pay':
      return sendPayment(tools, goal, left)
    case 'cancel':
      return cancelPayment(tools, goal)
    case 'report':
      return customerReport(tools)
  }
}

/** Asks the person for everything that a goal lacks. @throws NotDone if they don't know it */
async function complete(tools: Tools, goal: Goal): Promise<Goal> {
  const replies = new Map<string, string>()
  for (const name of missingIn(goal)) {
    const question = `What is the ${wordsOf(name)}?`
    const reply = await tools.ask(question)
    if (reply === undefined) throw new NotDone(`${question} Nobody could tell me. Nothing was done.`)
    replies.set(name, reply)
  }
  const whole = completedGoal(goal, replies)
  return whole.do === 'several' ? { ...whole, steps: whole.steps.map(withBudget) } : withBudget(whole)
}

function withBudget<One extends Goal>(goal: One): One {
  return goal.do === 'buy' && goal.budget !== undefined ? { ...goal, atMost: centsOf(goal.budget) } : goal
}

async function sendPayment(tools: Tools, goal: Paying, left?: number): Promise<string> {
  const earlier = goal.unlessPaid ? await earlierPayment(tools, goal) : undefined
  if (earlier !== undefined) return earlierPaymentText(earlier, goal)
  if (left !== undefined && centsOf(goal.amount) > left) {
    throw new NotDone(`${goal.to} was not paid: only ${money(left)} of the budget is left.`)
  }
  const payment = answeredData(await askToPay(tools, goal, centsOf(goal.amount)), `The payment to ${goal.to}`)
  return outcomeText(await decidedPayment(tools, payment.id), goal)
}

async function buy(tools: Tools, goal: Buying): Promise<string> {
  const shop = await shopOf(tools, goal)
  await checkTime(tools, goal)
  const payer = await payerOf(tools, goal)
  if (goal.mayBeOrdered) {
    const { heldCents, capturedCents } = await spentAt(tools, goal.shop, payer)
    if (heldCents + capturedCents > 0) {
      return `Nothing more was ordered: ${goal.shop} holds ${money(heldCents)} and took ${money(capturedCents)}.`
    }
  }
  const checkout = await cartOf(tools, shop, { goal, payer })
  const orderId = await pay(tools, { checkout, goal, payer })
  return orderText(await followOrder(tools, orderId, { goal, payer }))
}

async function shopOf(tools: Tools, { shop }: Buying): Promise<Shop> {
  const found = (await openShops(tools)).filter(({ attributes }) => isSame(attributes.name, shop))
  const [one] = found
  if (one === undefined || found.length > 1) throw new NotDone(`${found.length} shops are named ${shop}.`)
  return one
}

/** Compares the sandbox's clock with the task's deadline. @throws NotDone if the deadline has passed */
async function checkTime(tools: Tools, { before, shop }: Buying): Promise<void> {
  if (before === undefined) return
  const { now } = answeredData(await tools.call('getSandboxClock', {}), 'Reading the clock').attributes
  if (parseTimestamp(now) >= parseTimestamp(before)) {
    throw new NotDone(`It is too late to buy at ${shop} by the clock of the service. Nothing was bought.`)
  }
}

interface Purchase {
  goal: Buying
  payer: Payer
}

/** Starts a cart with only the wanted extras, and a total that the task allows. @throws NotDone */
async function cartOf(tools: Tools, shop: Shop, { goal, payer }: Purchase): Promise<Checkout> {
  const items = itemsOf(shop, goal, isSame).map(({ productId, quantity }) => ({ productId, quantity }))
  const checkoutInput = { shopId: shop.id, items, ...payer }
  const isWanted = ({ name }: { name: string }) => goal.extras.includes(name)
  const start = async (extras?: string[]) =>
    answeredData(await tools.call('startShopCheckout', { ...checkoutInput, ...(extras && { extras }) }), 'The checkout')
  // Only a cart lists the ids of extras.
  let checkout = await start(goal.extras.length === 0 ? [] : undefined)
  const offered = checkout.attributes.extras
  if (offered.some((extra) => extra.selected !== isWanted(extra))) {
    checkout = await start(offered.filter(isWanted).map(({ extraId }) => extraId))
  }
  const { total, merchant, extras, items: lines } = checkout.attributes
  if (!isSame(merchant.name, goal.shop)) throw new NotDone(`${merchant.name} would be paid. Nothing was bought.`)
  if (extras.some((extra) => extra.selected !== isWanted(extra)))
    throw new NotDone('The shop adds what nobody wants. Nothing was bought.')
  const goods = lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
  if (total < goods) throw new NotDone(`${goal.shop} asks for a part now, and for more later. Nothing was bought.`)
  if (goal.atMost !== undefined && total > goal.atMost) {
    throw new NotDone(`${goal.shop} asks ${money(total)} in all, more than ${money(goal.atMost)}. Nothing was bought.`)
  }
  return checkout
}

/** Pays once, with a card for exactly the total. Returns the id of the order. @throws NotDone */
async function pay(tools: Tools, { checkout, goal, payer }: Purchase & { checkout: Checkout }): Promise<string> {
  const { total } = checkout.attributes
  const card =
    goal.card === 'new'
      ? await newCard(tools, goal.shop, total, payer)
      : await existingCard(tools, goal.shop, total, payer)
  const { attributes } = answeredData(
    await payWith(tools, { checkout, card, payer }),
    `Paying ${money(total)} at ${goal.shop}`,
  )
  if (attributes.orderId !== null) return attributes.orderId
  throw new NotDone(`${goal.shop} took no card: ${attributes.decline?.detail ?? attributes.status} Nothing was bought.`)
}

/** Follows an order until it has reached the status that the task requires. */
async function followOrder(tools: Tools, orderId: string, { goal, payer }: Purchase): Promise<Order> {
  let order = await read(tools, orderId, payer)
  let isReturned = goal.until !== 'returned'
  for (let events = 0; events < maxEvents && goal.until !== 'paid'; events++) {
    const { status, nextEventAt } = order.attributes
    if (!isReturned && status === 'shipped') {
      order = answeredData(await tools.call('returnShopOrder', { orderId, ...payer }), 'Returning the order')
      isReturned = true
    } else if (nextEventAt !== null && ['placed', 'returning'].includes(status)) {
      answeredData(await tools.call('advanceSandboxClock', { to: nextEventAt }), 'Waiting')
      order = await read(tools, orderId, payer)
    } else return order
  }
  return order
}

async function read(tools: Tools, orderId: string, payer: Payer): Promise<Order> {
  for (let reads = 1; ; reads++) {
    const outcome = await tools.call('getShopOrder', { orderId, ...payer })
    const isUnknown = outcome.kind === 'refused' && outcome.code === 'not_found'
    if (!isUnknown || reads === maxReads) return answeredData(outcome, 'Reading the order')
  }
}

/** Returns the available money of all wallets, in cents. */
async function availableCents(tools: Tools): Promise<number> {
  const wallets = answeredData(await tools.call('listWallets', {}), 'Listing the wallets')
  return wallets.reduce((sum, { attributes }) => sum + (attributes.balance?.available ?? 0), 0)
}
