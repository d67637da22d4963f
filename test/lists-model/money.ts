import type { Action } from './actions.ts'
import {
  cardLifetimeMs,
  checkoutLifetimeMs,
  chosen,
  holdLifetimeMs,
  type Payment,
  payeeOf,
  release,
  type State,
  type Step,
} from './state.ts'

export type Planner<A> = (state: State, action: A, nowMs: number) => Step | undefined
type Of<T extends Action['type']> = Extract<Action, { type: T }>

export const usd = { currency: 'USD' }
const merchant = { name: 'Books' }
/** What the agent may pay without somebody's approval. */
export const agentLimit = 500
const subscriptionAmount = 1000

export const issue: Planner<Of<'issue'>> = (state, { maximum }, nowMs) => ({
  path: '/agent-cards',
  by: 'agent',
  attributes: { merchant, maximumAmount: maximum, ...usd },
  expected: maximum > agentLimit ? 422 : 200,
  done: ({ id }) => state.cards.push({ id, maximum, used: false, expiresAtMs: nowMs + cardLifetimeMs }),
})

export const authorize: Planner<Of<'authorize'>> = (state, { pick, amount }, nowMs) => {
  const card = chosen(state.cards, pick, ({ used }) => !used)
  if (card === undefined) return undefined
  const declines = {
    single_use_card_expired: nowMs >= card.expiresAtMs,
    single_use_card_used: card.used,
    single_use_amount_over_maximum: amount > card.maximum,
    insufficient_funds: amount > state.available,
  }
  const decline = Object.entries(declines).find(([, applies]) => applies)?.[0] ?? null
  const held = decline === null ? amount : 0
  return {
    path: `/simulations/agent-cards/${card.id}/authorize`,
    by: 'agent',
    attributes: { amount, ...usd, merchant },
    expected: 200,
    done: ({ id }) => {
      card.used ||= decline === null
      state.available -= held
      state.held += held
      const status = decline === null ? 'authorized' : 'declined'
      const rest = { captured: 0, refunded: 0, holdEndsAtMs: nowMs + holdLifetimeMs }
      state.cardTransactions.push({ id, cardId: card.id, status, amount, held, decline, ...rest })
    },
  }
}

export const capture: Planner<Of<'capture'>> = (state, { pick, amount }) => {
  const one = chosen(state.cardTransactions, pick, ({ status }) => status === 'authorized')
  if (one === undefined) return undefined
  return {
    path: `/simulations/card-transactions/${one.id}/capture`,
    by: 'party',
    attributes: { amount, ...usd },
    expected: one.status !== 'authorized' ? 409 : amount > one.amount ? 422 : 200,
    done: () => {
      state.held -= one.held
      state.available += one.held - amount
      const status = amount === one.amount ? 'captured' : 'partially_captured'
      Object.assign(one, { status, held: 0, captured: amount })
    },
  }
}

const wasCaptured = ({ status }: { status: string }) => ['captured', 'partially_captured'].includes(status)

export const refund: Planner<Of<'refund'>> = (state, { pick, amount }) => {
  const one = chosen(state.cardTransactions, pick, wasCaptured)
  if (one === undefined) return undefined
  return {
    path: `/simulations/card-transactions/${one.id}/refund`,
    by: 'agent',
    attributes: { amount, ...usd },
    expected: !wasCaptured(one) ? 409 : amount > one.captured - one.refunded ? 422 : 200,
    done: ({ id }) => {
      one.refunded += amount
      state.available += amount
      const rest = { held: 0, captured: 0, refunded: 0, decline: null, holdEndsAtMs: 0 }
      state.cardTransactions.push({ id, cardId: one.cardId, status: 'refunded', amount, ...rest })
    },
  }
}

export const letGo: Planner<Of<'reverse' | 'expire'>> = (state, { type, pick }) => {
  const one = chosen(state.cardTransactions, pick, ({ status }) => status === 'authorized')
  if (one === undefined) return undefined
  const path = `/simulations/card-transactions/${one.id}/${type}`
  const expected = one.status === 'authorized' ? 200 : 409
  return { path, by: 'agent', attributes: {}, expected, done: () => release(state, one) }
}

export const fund: Planner<Of<'fund'>> = (state, { amount }) => ({
  path: `/simulations/customers/${state.partyId}/transfers/deposit`,
  by: 'party',
  attributes: { amount },
  expected: 200,
  done: ({ id }) => {
    state.available += amount
    state.moves.push({ of: id, amount, direction: 'INBOUND', type: 'transfer', toShop: false })
  },
})

export const pay: Planner<Of<'pay'>> = (state, { by, amount, to }) => {
  const counterparty =
    to === 'shop' ? { type: 'party_id', value: state.shopPartyId } : { type: 'email', value: payeeOf(state, to) }
  return {
    path: '/payments',
    by,
    attributes: { amount, counterparty },
    expected: amount > state.available ? 409 : 200,
    done: ({ id }) => {
      const known = to === 'shop' || state.joined.has(to)
      const payment: Payment = { id, amount, status: 'IN_REVIEW', to, known, held: 0 }
      state.payments.push(payment)
      if (by === 'agent' && amount > agentLimit) state.approvals.push({ id: '', payment, status: 'pending' })
      else move(state, payment)
    },
  }
}

/** To whom it is known, or aside for whoever is still to come. */
function move(state: State, payment: Payment): void {
  const { amount, known } = payment
  state.available -= amount
  if (known) {
    arrive(state, payment)
  } else {
    state.held += amount
    Object.assign(payment, { status: 'PENDING_CLAIM', held: amount })
  }
}

function arrive(state: State, payment: Payment): void {
  const { id, amount, to } = payment
  state.held -= payment.held
  Object.assign(payment, { status: 'COMPLETED', held: 0 })
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
      state.held -= payment.held
      state.available += payment.held
      Object.assign(payment, { status: 'CANCELED', held: 0 })
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
  const short = type === 'approve' && payment.amount > state.available
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
    state.available += subscriptionAmount
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
