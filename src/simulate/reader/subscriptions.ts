import type { Facts } from '../facts.ts'
import { type Names, nameOf, spanMs, type Wire } from './names.ts'

export const readSubscriptions: Record<string, (state: Names, wire: Wire) => Facts> = {
  subscription: (state, wire) => {
    const { status, terms, nextPayment, missedPayments, attention, mandateId, checkoutUrl, createdAt, expiresAt } =
      wire.attributes ?? {}
    const { every, amount, taxAmount, payments } = terms ?? {}
    const each: { amount: number; taxAmount: number }[] = Array.isArray(payments) ? payments : [{ amount, taxAmount }]
    const amounts = each.map((payment) => `${payment.amount} (${payment.taxAmount} tax)`).join(', ')
    return {
      type: 'subscription',
      name: nameOf(state, wire.id),
      status,
      every: `${every?.count} ${every?.unit}`,
      amounts: `${amounts}${terms?.paymentCount === null ? ' each' : ''}`,
      next: nextPayment === null ? null : describeNext(nextPayment),
      missed: String(missedPayments),
      attention: attention === null ? null : `${attention?.reason} since ${String(attention?.since).slice(0, 10)}`,
      agreed: typeof mandateId === 'string',
      payable: typeof checkoutUrl === 'string',
      minutes: expiresAt === null ? null : spanMs(createdAt, expiresAt) / 60_000,
    }
  },
  subscriptionPayment: (state, wire) => {
    const { paymentNumber, dueDate, status, amount, taxAmount } = wire.attributes ?? {}
    const [subscription] = String(wire.id).split('-')
    const transaction = wire.relationships?.transaction?.data?.id
    return {
      type: 'subscriptionPayment',
      name: `payment ${paymentNumber} of ${nameOf(state, subscription)}`,
      ...{ status, amount, tax: taxAmount, due: dueDate ?? 'at checkout' },
      charged: typeof transaction === 'string',
    }
  },
}

function describeNext(next: { paymentNumber?: number; amount?: number; dueDate?: string | null }): string {
  return `${next?.paymentNumber} of ${next?.amount}, due ${next?.dueDate ?? 'at checkout'}`
}
