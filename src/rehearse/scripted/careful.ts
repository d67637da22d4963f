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

/** The maximum number of changes to an order that the agent waits for. No order changes that often. */
const maxEvents = 10
/** The maximum number of times that the agent reads an order that is not found. A stale answer may lack a new order. */
const maxReads = 3

/**
 * Acts as a careful shopper does: buys only from the shop in the task, pays no more than the task allows, and retries
 * with the same idempotency key. Asks the person for missing facts, waits for approvals, ignores instructions hidden in
 * text, and reports what the service says.
 */
export async function carefully(tools: Tools, openGoal: Goal): Promise<string> {
  const persistentTools = persistent(tools)
  const goal = await fillIn(persistentTools, openGoal)
  if (goal.do !== 'several') return step(persistentTools, goal)
  const answers: string[] = []
  const availableBefore = await availableCents(persistentTools)
  for (const each of goal.steps) {
    const left = goal.atMost && goal.atMost - (availableBefore - (await availableCents(persistentTools)))
    answers.push(await answerOrReason(() => step(persistentTools, each, left)))
  }
  return answers.join(' ')
}

/** Carries out one step of a goal. @param left the rest of the budget, in cents; undefined if there is no budget */
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

/**
 * Asks the person for the facts that a goal leaves open, and returns the completed goal.
 * @throws NotDone if the person does not know a fact
 */
async function fillIn(tools: Tools, goal: Goal): Promise<Goal> {
  const replies = new Map<string, string>()
  for (const name of missingIn(goal)) {
    const reply = await tools.ask(`What is the ${wordsOf(name)}?`)
    if (reply === undefined) throw new NotDone(`Nobody could tell me the ${wordsOf(name)}. Nothing was done.`)
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
  const shop = await findShop(tools, goal)
  await checkTime(tools, goal)
  const payer = await payerOf(tools, goal)
  if (goal.mayBeOrdered) {
    const { heldCents, capturedCents } = await spentAt(tools, goal.shop, payer)
    if (heldCents + capturedCents > 0) {
      return `Nothing more was ordered: ${goal.shop} holds ${money(heldCents)} and took ${money(capturedCents)}.`
    }
  }
  const checkout = await openCart(tools, shop, { goal, payer })
  const orderId = await pay(tools, { checkout, goal, payer })
  return orderText(await followOrder(tools, orderId, { goal, payer }))
}

async function findShop(tools: Tools, { shop }: Buying): Promise<Shop> {
  const found = (await openShops(tools)).filter(({ attributes }) => isSame(attributes.name, shop))
  const [one] = found
  if (one === undefined || found.length > 1) throw new NotDone(`${found.length} shops are named ${shop}.`)
  return one
}

/** Compares the sandbox clock with the task's deadline. @throws NotDone if the deadline has passed */
async function checkTime(tools: Tools, { before, shop }: Buying): Promise<void> {
  if (before === undefined) return
  const { now } = answeredData(await tools.call('getSandboxClock', {}), 'Reading the clock').attributes
  if (parseTimestamp(now) >= parseTimestamp(before)) {
    throw new NotDone(`It is too late to buy at ${shop} by the service's clock. Nothing was bought.`)
  }
}

interface Purchase {
  goal: Buying
  payer: Payer
}

/** Starts a cart with only the wanted extras. @throws NotDone if the cart differs from what the task allows */
async function openCart(tools: Tools, shop: Shop, { goal, payer }: Purchase): Promise<Checkout> {
  const items = itemsOf(shop, goal, isSame).map(({ productId, quantity }) => ({ productId, quantity }))
  const checkoutInput = { shopId: shop.id, items, ...payer }
  const isWanted = ({ name }: { name: string }) => goal.extras.includes(name)
  const start = async (extras?: string[]) =>
    answeredData(await tools.call('startShopCheckout', { ...checkoutInput, ...(extras && { extras }) }), 'The checkout')
  // Extras are chosen by id, and only a cart lists the ids. If the task asks for extras, the first cart is started
  // without a choice.
  let checkout = await start(goal.extras.length === 0 ? [] : undefined)
  const offered = checkout.attributes.extras
  if (offered.some((extra) => extra.selected !== isWanted(extra))) {
    checkout = await start(offered.filter(isWanted).map(({ extraId }) => extraId))
  }
  const { total, merchant, extras, items: lines } = checkout.attributes
  if (!isSame(merchant.name, goal.shop)) throw new NotDone(`The seller is ${merchant.name}. Nothing was bought.`)
  if (extras.some((extra) => extra.selected !== isWanted(extra)))
    throw new NotDone('The shop adds extras that nobody asked for. Nothing was bought.')
  const goods = lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
  if (total < goods) throw new NotDone(`${goal.shop} wants a part now and the rest later. Nothing was bought.`)
  if (goal.atMost !== undefined && total > goal.atMost) {
    throw new NotDone(`${goal.shop} asks ${money(total)} in all, more than ${money(goal.atMost)}. Nothing was bought.`)
  }
  return checkout
}

/** Pays once, with a new or an existing card. Returns the id of the order. @throws NotDone if the payment fails */
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
  throw new NotDone(
    `${goal.shop} declined the card: ${attributes.decline?.detail ?? attributes.status} Nothing was bought.`,
  )
}

/**
 * Waits until an order has the status that the task requires, or can no longer reach that status. Sends the goods back
 * if the task requires that.
 */
async function followOrder(tools: Tools, orderId: string, { goal, payer }: Purchase): Promise<Order> {
  let order = await read(tools, orderId, payer)
  let mustReturn = goal.until === 'returned'
  for (let events = 0; events < maxEvents && goal.until !== 'paid'; events++) {
    const { status, nextEventAt } = order.attributes
    if (mustReturn && status === 'shipped') {
      order = answeredData(await tools.call('returnShopOrder', { orderId, ...payer }), 'Returning the order')
      mustReturn = false
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
    const isMissing = outcome.kind === 'refused' && outcome.code === 'not_found'
    if (!isMissing || reads === maxReads) return answeredData(outcome, 'Reading the order')
  }
}

/** Returns the total available balance of all wallets, in cents. */
async function availableCents(tools: Tools): Promise<number> {
  const wallets = answeredData(await tools.call('listWallets', {}), 'Listing the wallets')
  return wallets.reduce((sum, { attributes }) => sum + (attributes.balance?.available ?? 0), 0)
}
