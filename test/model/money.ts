import { purchaseTools } from '../support/purchases.ts'
import type { Action } from './actions.ts'
import { checkoutLifetimeMs, chosen, type Payment, payeeOf, type State, type Step } from './state.ts'

export type Planner<A> = (state: State, action: A, nowMs: number) => Step | undefined
type Of<T extends Action['type']> = Extract<Action, { type: T }>

export const usd = { currency: 'USD' }
const merchant = { name: 'Books' }
/** What the agent may pay without somebody's approval. */
export const agentLimit = 500
const subscriptionAmount = 1000

export const issue: Planner<Of<'issue'>> = ({ purchases }, { maximum }) => ({
  path: '/agent-cards',
  by: 'agent',
  attributes: { merchant, maximumAmount: maximum, ...usd },
  expected: maximum > agentLimit ? 422 : 200,
  done: ({ id: makes }) => purchases.act('issue_agent_card', { maximum, makes }),
})

export const authorize: Planner<Of<'authorize'>> = ({ purchases }, { pick, amount }) => {
  const card = chosen(purchases.cards, pick, ({ status }) => status !== 'used')
  if (card === undefined) return undefined
  return {
    path: `/simulations/agent-cards/${card.id}/authorize`,
    by: 'agent',
    attributes: { amount, ...usd, merchant },
    expected: (makes) => purchases.act('simulate_card_authorization', { subject: card.id, amount, ...makes }),
  }
}

export const goOn: Planner<Of<'capture' | 'refund' | 'reverse' | 'expire'>> = ({ purchases }, action) => {
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

export const fund: Planner<Of<'fund'>> = (state, { amount }) => ({
  path: `/simulations/customers/${state.partyId}/transfers/deposit`,
  by: 'party',
  attributes: { amount },
  expected: 200,
  done: ({ id }) => {
    receive(state, amount)
    state.moves.push({ of: id, amount, direction: 'INBOUND', type: 'transfer', toShop: false })
  },
})

function receive({ purchases: { balance } }: State, amount: number): void {
  balance.available += amount
  balance.total += amount
}

export const pay: Planner<Of<'pay'>> = (state, { by, amount, to }) => {
  const counterparty =
    to === 'shop' ? { type: 'party_id', value: state.shopPartyId } : { type: 'email', value: payeeOf(state, to) }
  return {
    path: '/payments',
    by,
    attributes: { amount, counterparty },
    expected: amount > state.purchases.balance.available ? 409 : 201,
    done: ({ id }) => {
      const known = to === 'shop' || state.joined.has(to)
      const payment: Payment = { id, amount, status: 'IN_REVIEW', to, known }
      state.payments.push(payment)
      if (by === 'agent' && amount > agentLimit) state.approvals.push({ id: '', payment, status: 'pending' })
      else move(state, payment)
    },
  }
}

/** To whom it is known, or aside for whoever is still to come. */
function move(state: State, payment: Payment): void {
  state.purchases.balance.available -= payment.amount
  if (payment.known) arrive(state, payment)
  else payment.status = 'PENDING_CLAIM'
}

function arrive(state: State, payment: Payment): void {
  const { id, amount, to } = payment
  state.purchases.balance.total -= amount
  payment.status = 'COMPLETED'
  if (to === 'shop') state.shopFunds += amount
  state.moves.push({ of: id, amount, direction: 'OUTBOUND', type: 'payment', toShop: to === 'shop' })
}

export const cancel: Planner<Of<'cancel'>> = (state, { pick }) => {
  const payment = chosen(state.payments, pick)
  if (payment === undefined) return undefined
  return {
    path: `/payments/${payment.id}/cancel`,
    by: 'party',
    attributes: {},
    expected: ['IN_REVIEW', 'PENDING_CLAIM'].includes(payment.status) ? 200 : 409,
    done: () => {
      if (payment.status === 'PENDING_CLAIM') state.purchases.balance.available += payment.amount
      payment.status = 'CANCELED'
      const approval = state.approvals.find((one) => one.payment === payment)
      if (approval?.status === 'pending') approval.status = 'canceled'
    },
  }
}

export const claim: Planner<Of<'claim'>> = (state, { pick }) => {
  const payment = chosen(state.payments, pick, ({ status }) => status === 'PENDING_CLAIM')
  if (payment === undefined) return undefined
  const expected = payment.status === 'PENDING_CLAIM' ? 200 : 409
  const done = () => {
    if (payment.to !== 'shop') state.joined.add(payment.to)
    arrive(state, payment)
  }
  return { path: `/simulations/payments/${payment.id}/complete-claim`, by: 'party', expected, done }
}

export const decide: Planner<Of<'approve' | 'deny'>> = (state, { type, pick }) => {
  const approval = chosen(state.approvals, pick, ({ status }) => status === 'pending')
  if (approval === undefined) return undefined
  const { payment } = approval
  const short = type === 'approve' && payment.amount > state.purchases.balance.available
  return {
    path: `/approvals/${approval.id}/${type}`,
    by: 'party',
    expected: approval.status !== 'pending' || short ? 409 : 200,
    done: () => {
      approval.status = type === 'approve' ? 'approved' : 'denied'
      if (type === 'approve') move(state, payment)
      else payment.status = 'APPROVAL_DENIED'
    },
  }
}

/** Every five months, so that no later payment falls due in a run. */
export const subscribe: Planner<Of<'subscribe'>> = (state, _, nowMs) => ({
  path: '/subscriptions',
  by: 'party',
  attributes: { description: 'Gym', every: { unit: 'month', count: 5 }, amount: subscriptionAmount, taxAmount: 0 },
  expected: 200,
  done: ({ id }) => state.subscriptions.push({ id, status: 'pending', endsAtMs: nowMs + checkoutLifetimeMs }),
})

export const checkout: Planner<Of<'checkout'>> = (state, { pick }) => {
  const one = chosen(state.subscriptions, pick)
  if (one === undefined) return undefined
  const done = () => {
    one.status = 'active'
    receive(state, subscriptionAmount)
    state.moves.push({ of: one.id, amount: subscriptionAmount, direction: 'INBOUND', type: 'payment', toShop: false })
  }
  const path = `/simulations/subscriptions/${one.id}/checkout`
  return { path, by: 'agent', attributes: { card: 'approves' }, expected: one.status === 'pending' ? 200 : 409, done }
}

export const cancelSubscription: Planner<Of<'cancelSubscription'>> = (state, { pick }) => {
  const one = chosen(state.subscriptions, pick)
  if (one === undefined) return undefined
  const done = () => {
    one.status = 'canceled'
  }
  return { path: `/subscriptions/${one.id}/cancel`, by: 'agent', attributes: {}, expected: 200, done }
}
