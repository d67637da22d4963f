import { money } from '../../core/money.ts'
import type { Buying, Paying, Step } from '../goal.ts'
import { missingIn } from '../questions.ts'
import { answeredData, isSame, openShops } from './steps.ts'
import type { Tools } from './tools.ts'

/**
 * Completes a step like an agent that never asks: with the first shop and products that fit, or with the latest
 * payment.
 */
export async function guessStep(tools: Tools, step: Step): Promise<Step> {
  if (missingIn(step).length === 0) return step
  if (step.do === 'buy') return guessedPurchase(tools, step)
  return step.do === 'pay' ? guessedPayment(tools, step) : step
}

/** Takes the first shop and the first products that fit, at any price. */
async function guessedPurchase(tools: Tools, { budget: _, ...goal }: Buying): Promise<Buying> {
  const shops = (await openShops(tools)).map(({ attributes }) => attributes)
  const offers = shops
    .filter(({ name }) => isNameLike(name, goal.shop))
    .map(({ name, products }) => ({ name, products }))
  const findOffer = ({ products }: (typeof offers)[number], product: string) =>
    products.find(({ name }) => isNameLike(name, product))?.name
  const shop = offers.find((one) => goal.items.every(({ product }) => findOffer(one, product) !== undefined))
  if (shop === undefined) return goal
  const items = goal.items.map((item) => ({ ...item, product: findOffer(shop, item.product) ?? item.product }))
  return { ...goal, shop: shop.name, items }
}

/** Takes the payee and the amount of the latest payment. */
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

const hasPlaceholder = (text: string) => placeholder.test(text)

/** Returns whether a name begins like a pattern, up to the pattern's first placeholder. */
function isNameLike(name: string, pattern: string): boolean {
  return hasPlaceholder(pattern) ? name.startsWith(pattern.split(placeholder)[0] ?? '') : isSame(name, pattern)
}
