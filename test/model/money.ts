import { expect } from 'vitest'
import { purchaseTools } from '../support/purchases.ts'
import type { Action } from './actions.ts'
import {
  checkoutLifetimeMs,
  chosen,
  type Move,
  type Party,
  type Payment,
  partnerOf,
  payeeOf,
  type State,
  type Step,
} from './state.ts'

/** Returns the request that an action is, or undefined where there is nothing to act on. */
export type Planner<T> = (self: Party, action: Action & { type: T }, state: State) => Step | undefined

const usd = { currency: 'USD' }
const merchant = { name: 'Books' }
const beneficiary = {
  name: 'Acme',
  accountNumber: '000123456789',
  routingNumber: '021000021',
  address: { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' },
}
const subscriptionAmount = 1000

export const issue: Planner<'issue'> = ({ purchases, limits }, { maximum }) => ({
  path: '/agent-cards',
  by: 'agent',
  attributes: { merchant, maximumAmount: maximum, ...usd },
  expected: maximum > limits.perTransaction ? 422 : 200,
  done: ({ id: makes }) => purchases.act('issue_agent_card', { maximum, makes }),
})

export const authorize: Planner<'authorize'> = (self, { pick, amount }, { nowMs }) => {
  const { purchases } = self
  const card = chosen(purchases.cards, pick, ({ status }) => status !== 'used')
  if (card === undefined) return undefined
  // A decline comes before a limit.
  const isDeclined = card.status !== 'active' || amount > card.maximum || amount > purchases.balance.available
  const subject = card.id
  return {
    path: `/simulations/agent-cards/${subject}/authorize`,
    by: 'agent',
    attributes: { amount, ...usd, merchant },
    expected:
      !isDeclined && beyondLimits(self, amount, nowMs).length > 0
        ? 409
        : (makes) => purchases.act('simulate_card_authorization', { subject, amount, ...makes }),
  }
}

const settle: Planner<'capture' | 'refund' | 'reverse' | 'expire'> = ({ purchases }, action) => {
  const { type, pick, ...sent } = action
  const fitting = type === 'refund' ? ['captured', 'partially_captured'] : ['authorized']
  const one = chosen(purchases.transactions, pick, ({ status }) => fitting.includes(status))
  if (one === undefined) return undefined
  return {
    path: `/simulations/card-transactions/${one.id}/${type}`,
    by: type === 'capture' ? 'party' : 'agent',
    attributes: 'amount' in sent ? { ...sent, ...usd } : {},
    expected: (makes) => purchases.act(purchaseTools[type], { subject: one.id, ...sent, ...makes }),
  }
}

export { settle as capture, settle as expire, settle as refund, settle as reverse }

/** The amounts with which each limit would be exceeded. Payments count from the day they were created on. */
function beyondLimits({ limits, payments, purchases }: Party, amount: number, nowMs: number): number[] {
  const now = new Date(nowMs)
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
  const dayMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())
  const uncounted = ['CANCELED', 'APPROVAL_DENIED', 'IN_REVIEW']
  const counted = payments.filter(({ by, status }) => by === 'agent' && !uncounted.includes(status))
  const since = (fromMs: number) =>
    counted.reduce((sum, one) => sum + (one.createdAtMs >= fromMs ? one.amount : 0), purchases.spentSince(fromMs))
  const windows = [
    [limits.perTransaction, amount],
    [limits.perDay, since(dayMs) + amount],
    [limits.perMonth, since(monthMs) + amount],
  ] as const
  return windows.flatMap(([limit = Number.POSITIVE_INFINITY, actual]) => (actual > limit ? [actual] : []))
}

export const fund: Planner<'fund'> = (self, { by, amount }) => ({
  path: `/simulations/customers/${self.partyId}/transfers/deposit`,
  by,
  attributes: { amount },
  expected: 200,
  done: ({ id }) => receive(self, { of: id, amount, type: 'transfer' }),
})

function receive(
  { purchases: { balance }, moves }: Party,
  move: Pick<Move, 'of' | 'amount' | 'type'>,
  isPartner = false,
) {
  balance.available += move.amount
  balance.total += move.amount
  moves.push({ ...move, direction: 'INBOUND', isPartner })
}

export const pay: Planner<'pay'> = (self, { by, amount, to }, state) => {
  const { purchases, payments, approvals, joined } = self
  const over = by === 'agent' ? beyondLimits(self, amount, state.nowMs) : []
  const counterparty =
    typeof to === 'number'
      ? { type: 'email', value: payeeOf(self, to) }
      : { type: 'party_id', value: partnerOf(self, state).partyId }
  return {
    path: to === 'bank' ? '/wire' : '/payments',
    by,
    attributes: to === 'bank' ? { amount, beneficiary } : { amount, counterparty },
    // Funds come before limits: nobody has to decide on what cannot be paid.
    expected: amount > purchases.balance.available ? 409 : to === 'bank' ? 200 : 201,
    done: ({ id, attributes }) => {
      const known = typeof to !== 'number' || joined.has(to)
      const payment: Payment = { id, amount, status: 'IN_REVIEW', by, to, known, createdAtMs: state.nowMs }
      payments.push(payment)
      if (over.length > 0) approvals.push({ id: '', payment, status: 'pending', over })
      else send(self, payment, state)
      expect(attributes.status).toBe(payment.status)
    },
  }
}

/** Moves the money to a payee who is known, and holds it for anybody else. */
function send(self: Party, payment: Payment, state: State): void {
  self.purchases.balance.available -= payment.amount
  if (payment.known) arrive(self, payment, state)
  else payment.status = 'PENDING_CLAIM'
}

function arrive(self: Party, payment: Payment, state: State): void {
  const { id: of, amount, to } = payment
  const type = to === 'bank' ? 'transfer' : 'payment'
  const isPartner = to === 'partner'
  self.purchases.balance.total -= amount
  payment.status = 'COMPLETED'
  self.moves.push({ of, amount, direction: 'OUTBOUND', type, isPartner })
  if (isPartner) receive(partnerOf(self, state), { of, amount, type }, isPartner)
}

const paymentsOf = ({ payments }: Party) => payments.filter(({ to }) => to !== 'bank')

export const cancel: Planner<'cancel'> = (self, { pick }) => {
  const payment = chosen(paymentsOf(self), pick)
  if (payment === undefined) return undefined
  return {
    path: `/payments/${payment.id}/cancel`,
    by: 'party',
    attributes: {},
    expected: ['IN_REVIEW', 'PENDING_CLAIM'].includes(payment.status) ? 200 : 409,
    done: () => {
      if (payment.status === 'PENDING_CLAIM') self.purchases.balance.available += payment.amount
      payment.status = 'CANCELED'
      const approval = self.approvals.find((one) => one.payment === payment)
      if (approval?.status === 'pending') approval.status = 'canceled'
    },
  }
}

export const claim: Planner<'claim'> = (self, { pick }, state) => {
  const payment = chosen(paymentsOf(self), pick, ({ status }) => status === 'PENDING_CLAIM')
  if (payment === undefined) return undefined
  const expected = payment.status === 'PENDING_CLAIM' ? 200 : 409
  const done = () => {
    if (typeof payment.to === 'number') self.joined.add(payment.to)
    arrive(self, payment, state)
  }
  return { path: `/simulations/payments/${payment.id}/complete-claim`, by: 'party', expected, done }
}

const decide: Planner<'approve' | 'deny'> = (self, { type, pick }, state) => {
  const approval = chosen(self.approvals, pick, ({ status }) => status === 'pending')
  if (approval === undefined) return undefined
  const { payment } = approval
  const short = type === 'approve' && payment.amount > self.purchases.balance.available
  return {
    path: `/approvals/${approval.id}/${type}`,
    by: 'party',
    expected: approval.status !== 'pending' || short ? 409 : 200,
    done: () => {
      approval.status = type === 'approve' ? 'approved' : 'denied'
      if (type === 'approve') send(self, payment, state)
      else payment.status = 'APPROVAL_DENIED'
    },
  }
}

export { decide as approve, decide as deny }

/** Every five months, so that no later payment falls due in a run. */
export const subscribe: Planner<'subscribe'> = ({ subscriptions }, _, { nowMs }) => ({
  path: '/subscriptions',
  by: 'party',
  attributes: { description: 'Gym', every: { unit: 'month', count: 5 }, amount: subscriptionAmount, taxAmount: 0 },
  expected: 200,
  done: ({ id }) => subscriptions.push({ id, status: 'pending', endsAtMs: nowMs + checkoutLifetimeMs }),
})

export const checkout: Planner<'checkout'> = (self, { pick }) => {
  const one = chosen(self.subscriptions, pick)
  if (one === undefined) return undefined
  const done = () => {
    one.status = 'active'
    receive(self, { of: one.id, amount: subscriptionAmount, type: 'payment' })
  }
  const path = `/simulations/subscriptions/${one.id}/checkout`
  return { path, by: 'agent', attributes: { card: 'approves' }, expected: one.status === 'pending' ? 200 : 409, done }
}

export const cancelSubscription: Planner<'cancelSubscription'> = ({ subscriptions }, { pick }) => {
  const one = chosen(subscriptions, pick)
  if (one === undefined) return undefined
  const done = () => {
    one.status = 'canceled'
  }
  return { path: `/subscriptions/${one.id}/cancel`, by: 'agent', attributes: {}, expected: 200, done }
}
