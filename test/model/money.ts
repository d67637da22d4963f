import { expect } from 'vitest'
import { purchaseTools } from '../support/purchases.ts'
import type { Action } from './actions.ts'
import { submit } from './banks.ts'
import { chosen, type Move, type Party, type Payment, partnerOf, payeeOf, type State, type Step } from './state.ts'

/** A function that returns the request for an action, or undefined if the action needs a record and none exists. */
export type Planner<T> = (self: Party, action: Action & { type: T }, state: State) => Step | undefined

const usd = { currency: 'USD' }
const merchant = { name: 'Books' }
const beneficiary = {
  name: 'Acme',
  accountNumber: '000123456789',
  routingNumber: '021000021',
  address: { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' },
}

export const issue: Planner<'issue'> = ({ purchases, limits }, { maximum }) => ({
  path: '/agent-cards',
  by: 'agent',
  attributes: { merchant, maximumAmount: maximum, ...usd },
  expected: maximum > (limits.perTransaction ?? maximum) ? 422 : 200,
  done: ({ id: makes }) => purchases.act('issue_agent_card', { maximum, makes }),
})

export const authorize: Planner<'authorize'> = (self, { pick, amount }, { nowMs }) => {
  const { purchases } = self
  const card = chosen(purchases.cards, pick, ({ status }) => status !== 'used')
  if (card === undefined) return undefined
  // The service first checks whether the card is declined, and only then checks the limits.
  const isDeclined = card.status !== 'active' || amount > card.maximum || amount > purchases.balance.available
  const subject = card.id
  return {
    path: `/simulations/agent-cards/${subject}/authorize`,
    by: 'agent',
    attributes: { amount, ...usd, merchant },
    expected:
      !isDeclined && totalsOverLimits(self, amount, nowMs).length > 0
        ? 409
        : (makes) => purchases.act('simulate_card_authorization', { subject, amount, ...makes }),
  }
}

const changePurchase: Planner<'capture' | 'refund' | 'reverse' | 'expire'> = ({ purchases }, action) => {
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

export { changePurchase as capture, changePurchase as expire, changePurchase as refund, changePurchase as reverse }

/** Returns the totals that exceed a limit if `amount` is added. A payment counts on the day of its creation. */
export function totalsOverLimits(self: Party, amount: number, nowMs: number): number[] {
  const { limits, payments, transfers, purchases } = self
  const now = new Date(nowMs)
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth())
  const dayMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())
  const uncounted = ['CANCELED', 'APPROVAL_DENIED', 'IN_REVIEW', 'FAILED', 'RETURNED']
  const counted = [...payments, ...transfers].filter(({ by, status }) => by === 'agent' && !uncounted.includes(status))
  const since = (fromMs: number) =>
    counted.reduce((sum, one) => sum + (one.createdAtMs >= fromMs ? one.amount : 0), purchases.spentSince(fromMs))
  const windows = [
    [limits.perTransaction, amount],
    [limits.perDay, since(dayMs) + amount],
    [limits.perMonth, since(monthMs) + amount],
  ] as const
  return windows.flatMap(([limit = Number.POSITIVE_INFINITY, actual]) => (actual > limit ? [actual] : []))
}

export const fund: Planner<'fund'> = (self, { by, amount }, { nowMs: atMs }) => ({
  path: `/simulations/customers/${self.partyId}/transfers/deposit`,
  by,
  attributes: { amount },
  expected: 200,
  done: ({ id }) => receive(self, { sourceId: id, amount, type: 'transfer', atMs }),
})

type Received = Pick<Move, 'sourceId' | 'amount' | 'type' | 'atMs'>

export function receive(self: Party, move: Received, counterparty?: string): void {
  const { balance } = self.purchases
  balance.available += move.amount
  balance.total += move.amount
  book(self, { ...move, direction: 'INBOUND' }, counterparty)
}

export function book({ moves }: Party, move: Received & Pick<Move, 'direction'>, counterparty?: string): void {
  moves.push({ ...move, status: 'COMPLETED', counterparty })
}

export const pay: Planner<'pay'> = (self, { by, amount, to }, state) => {
  const { purchases, joined } = self
  const payee = to === 'partner' ? partnerOf(self, state) : to
  const over = by === 'agent' ? totalsOverLimits(self, amount, state.nowMs) : []
  const counterparty =
    typeof to === 'number'
      ? { type: 'email', value: payeeOf(self, to) }
      : { type: 'party_id', value: partnerOf(self, state).partyId }
  return {
    path: to === 'bank' ? '/wire' : '/payments',
    by,
    attributes: to === 'bank' ? { amount, beneficiary } : { amount, counterparty },
    // The service checks funds before limits, so that nobody is asked to approve a payment that cannot be made.
    expected: amount > purchases.balance.available ? 409 : to === 'bank' ? 200 : 201,
    done: ({ id, attributes }) => {
      const isKnown = typeof to !== 'number' || joined.has(to)
      const payment: Payment = { id, amount, status: 'IN_REVIEW', by, to: payee, isKnown, createdAtMs: state.nowMs }
      sendOrReview(self, payment, over, state)
      expect(attributes.status).toBe(payment.status)
    },
  }
}

/** Sends the payment, or requests an approval if the payment exceeds limits. */
export function sendOrReview(self: Party, payment: Payment, over: number[], state: State): void {
  self.payments.push(payment)
  if (over.length > 0) self.approvals.push({ id: '', subject: payment, status: 'pending', over })
  else send(self, payment, state)
}

/** Moves the money to a known payee, or holds it until an unknown payee claims it. */
function send(self: Party, payment: Payment, state: State): void {
  self.purchases.balance.available -= payment.amount
  if (payment.isKnown) arrive(self, payment, state)
  else payment.status = 'PENDING_CLAIM'
}

function arrive(self: Party, payment: Payment, { nowMs: atMs }: State): void {
  const { id: sourceId, amount, to } = payment
  const move = { sourceId, amount, type: to === 'bank' ? 'transfer' : 'payment', atMs } as const
  const recipient = typeof to === 'object' ? to : undefined
  self.purchases.balance.total -= amount
  payment.status = 'COMPLETED'
  if (payment.request !== undefined) payment.request.status = 'COMPLETED'
  book(self, { ...move, direction: 'OUTBOUND' }, recipient?.partyId)
  if (recipient !== undefined) receive(recipient, move, self.partyId)
}

/** Reopens the payment request that the payment would have paid, or marks the request as expired if it is too old. */
function reopen({ request }: Payment, nowMs: number): void {
  if (request !== undefined) request.status = request.expiresAtMs <= nowMs ? 'EXPIRED' : 'OPEN'
}

const paymentsWithoutWires = ({ payments }: Party) => payments.filter(({ to }) => to !== 'bank')

export const cancel: Planner<'cancel'> = (self, { by = 'party', pick }, { nowMs }) => {
  const payment = chosen(paymentsWithoutWires(self), pick)
  if (payment === undefined) return undefined
  return {
    path: `/payments/${payment.id}/cancel`,
    by,
    attributes: {},
    expected: ['IN_REVIEW', 'PENDING_CLAIM'].includes(payment.status) ? 200 : 409,
    done: () => {
      if (payment.status === 'PENDING_CLAIM') self.purchases.balance.available += payment.amount
      payment.status = 'CANCELED'
      reopen(payment, nowMs)
      const approval = self.approvals.find((one) => one.subject === payment)
      if (approval?.status === 'pending') approval.status = 'canceled'
    },
  }
}

export const claim: Planner<'claim'> = (self, { by = 'party', pick }, state) => {
  const payment = chosen(paymentsWithoutWires(self), pick, ({ status }) => status === 'PENDING_CLAIM')
  if (payment === undefined) return undefined
  // Among a customer's payments, an agent finds only the payments that the agent made.
  const isFound = state.parties.includes(self) || payment.by === 'agent'
  const expected = !isFound ? 404 : payment.status === 'PENDING_CLAIM' ? 200 : 409
  const done = () => {
    if (typeof payment.to === 'number') self.joined.add(payment.to)
    arrive(self, payment, state)
  }
  return { path: `/simulations/payments/${payment.id}/complete-claim`, by, expected, done }
}

const decide: Planner<'approve' | 'deny'> = (self, { type, pick }, state) => {
  const approval = chosen(self.approvals, pick, ({ status }) => status === 'pending')
  if (approval === undefined) return undefined
  const { subject } = approval
  const isDeposit = 'kind' in subject && subject.kind === 'deposit'
  const isImpossible = isDeposit
    ? subject.account.connection !== 'active'
    : subject.amount > self.purchases.balance.available
  return {
    path: `/approvals/${approval.id}/${type}`,
    by: 'party',
    expected: approval.status !== 'pending' || (type === 'approve' && isImpossible) ? 409 : 200,
    done: () => {
      approval.status = type === 'approve' ? 'approved' : 'denied'
      if (type === 'approve' && 'kind' in subject) submit(self, subject, state.nowMs)
      else if (type === 'approve' && !('kind' in subject)) send(self, subject, state)
      else {
        subject.status = 'APPROVAL_DENIED'
        if (!('kind' in subject)) reopen(subject, state.nowMs)
      }
    },
  }
}

export { decide as approve, decide as deny }
