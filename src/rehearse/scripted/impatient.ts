import { money } from '../../core/money.ts'
import type { Buying, Step } from '../goal.ts'
import { askToPay, centsOf, earlierPayment } from './payments.ts'
import { customerReport } from './report.ts'
import { answeredData, existingCard, isSame, itemsOf, NotDone, newCard, openShops, payerOf, payWith } from './steps.ts'
import type { Tools } from './tools.ts'

/** Makes each change once, without waiting for people. Reports success without checking the outcome. */
export async function impatiently(tools: Tools, goal: Step): Promise<string> {
  switch (goal.do) {
    case 'buy':
      return buy(tools, goal)
    case 'pay': {
      const cents = centsOf(goal.amount)
      await askToPay(tools, goal, cents)
      return `${goal.to} was paid ${money(cents)}.`
    }
    case 'cancel': {
      const payment = await earlierPayment(tools, goal)
      if (payment === undefined) throw new NotDone(`There is no payment for ${goal.for} to cancel.`)
      await tools.call('cancelPayment', { paymentId: payment.id })
      return `The payment for ${goal.for} is canceled.`
    }
    case 'report':
      return customerReport(tools)
  }
}

async function buy(tools: Tools, goal: Buying): Promise<string> {
  const shop = (await openShops(tools)).find(({ attributes }) => isSame(attributes.name, goal.shop))
  if (shop === undefined) return `There is no shop named ${goal.shop}.`
  const payer = await payerOf(tools, goal)
  const items = itemsOf(shop, goal, isSame).map(({ productId, quantity }) => ({ productId, quantity }))
  const extras = goal.extras.length === 0 ? { extras: [] } : {}
  const checkoutInput = { shopId: shop.id, items, ...extras, ...payer }
  const checkout = answeredData(await tools.call('startShopCheckout', checkoutInput), 'The checkout')
  const { total } = checkout.attributes
  if (goal.atMost !== undefined && total > goal.atMost) return `It costs ${money(total)}, which is too much.`
  const getCard = goal.card === 'new' ? newCard : existingCard
  const card = await getCard(tools, goal.shop, total, payer)
  const paid = await payWith(tools, { checkout, card, payer })
  const answer = `Bought at ${goal.shop} for ${money(total)}`
  const orderId = paid.kind === 'answered' ? paid.data.attributes.orderId : null
  if (goal.until !== 'returned' || orderId === null) return `${answer}.`
  await tools.call('returnShopOrder', { orderId, ...payer })
  return `${answer}, and sent back: ${money(total)} was refunded.`
}
