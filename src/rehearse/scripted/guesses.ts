import { money } from '../../core/money.ts'
import type { Buying, Paying, Step } from '../goal.ts'
import { missingIn } from '../questions.ts'
import { answeredData, isSame, openShops } from './steps.ts'
import type { Tools } from './tools.ts'

/**
 * Fills in missing facts as an agent that never asks would: from the first shop with matching products, or from the
 * latest payment.
 */
export async function guessMissingFacts(tools: Tools, step: Step): Promise<Step> {
  if (missingIn(step).length === 0) return step
  if (step.do === 'buy') return guessedPurchase(tools, step)
  return step.do === 'pay' ? guessedPayment(tools, step) : step
}

/**
 * Chooses the first shop that sells a match for each product, and that shop's first match for each. Ignores the budget.
 */
async function guessedPurchase(tools: Tools, { budget: _, ...goal }: Buying): Promise<Buying> {
  const shops = (await openShops(tools)).map(({ attributes }) => attributes)
  const offers = shops
    .filter(({ name }) => matchesPattern(name, goal.shop))
    .map(({ name, products }) => ({ name, products }))
  const findOffer = ({ products }: (typeof offers)[number], product: string) =>
    products.find(({ name }) => matchesPattern(name, product))?.name
  const shop = offers.find((one) => goal.items.every(({ product }) => findOffer(one, product) !== undefined))
  if (shop === undefined) return goal
  const items = goal.items.map((item) => ({ ...item, product: findOffer(shop, item.product) ?? item.product }))
  return { ...goal, shop: shop.name, items }
}

/** Takes the missing amount from the latest payment, and the missing handle from the description of that payment. */
async function guessedPayment(tools: Tools, goal: Paying): Promise<Paying> {
  const [latest] = answeredData(await tools.call('listPayments', { limit: 1 }), 'Listing the payments')
  if (latest === undefined) return goal
  const { amount, description } = latest.attributes
  const handle = /@[a-z\d-]+/.exec(description ?? '')?.[0]
  return {
    ...goal,
    to: hasPlaceholder(goal.to) ? (handle ?? goal.to) : goal.to,
    amount: hasPlaceholder(goal.amount) ? money(amount) : goal.amount,
  }
}

const placeholder = /\{[a-z]\w*\}/

const hasPlaceholder = (value: string) => placeholder.test(value)

/**
 * Returns whether a name begins with the text before the pattern's placeholder. If the pattern has no placeholder,
 * returns whether the name equals the pattern.
 */
function matchesPattern(name: string, pattern: string): boolean {
  return hasPlaceholder(pattern) ? name.startsWith(pattern.split(placeholder)[0] ?? '') : isSame(name, pattern)
}
