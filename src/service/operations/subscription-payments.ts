import { timestamp } from '../../core/system.ts'
import type { Handler } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { dateOf } from '../rules/calendar.ts'
import { lastToldPayment, paymentState } from '../rules/subscription-payments.ts'
import { pageOf } from '../store/engine/page.ts'
import { chargedPayments } from '../store/subscription-payments.ts'
import { loadSubscription } from './subscriptions.ts'

/** The last payment first, as other lists are; their numbers stand in the cursor, in the form of an id. */
export const listSubscriptionPayments: Handler<'listSubscriptionPayments'> = async (input, context) => {
  const { id, terms, billing } = await loadSubscription(context, input.subscriptionId)
  const list = { list: 'subscriptionPayments', subscriptionId: id }
  const { limit, beforeId } = pageRequest(input, list)
  const last = beforeId === null ? lastToldPayment(terms, billing) : numberIn(beforeId) - 1
  const first = Math.max(1, last - limit)
  const charges = await chargedPayments(context.tx, { subscriptionId: id, first, last })
  const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => last - index)
  return page(pageOf(numbers, limit, idOf), list, (paymentNumber) => {
    const charge = charges.find((one) => one.paymentNumber === paymentNumber)
    const { dueMs, ...state } = paymentState(terms, billing, paymentNumber, charge !== undefined)
    return {
      type: 'subscriptionPayment',
      id: `${id}-${paymentNumber}`,
      attributes: {
        ...state,
        dueDate: dueMs === null ? null : dateOf(dueMs),
        currency: 'USD',
        paidAt: charge === undefined ? null : timestamp(charge.chargedAtMs),
      },
      relationships: {
        transaction: { data: charge === undefined ? null : { type: 'transaction', id: charge.transactionId } },
      },
    }
  })
}

const idOf = (paymentNumber: number) => `pmt_${paymentNumber.toString(16).padStart(32, '0')}`
const numberIn = (id: string) => Number.parseInt(id.slice(4), 16)
