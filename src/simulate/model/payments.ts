import { type Action, isInvited, type PartyName } from '../action.ts'
import type { ApprovalFacts, Facts, PaymentFacts } from '../facts.ts'
import {
  conflict,
  type ModelApproval,
  type ModelPayment,
  madeBy,
  move,
  notFound,
  pageOf,
  type Rule,
  refused,
  type State,
  walletOf,
  wrongValue,
} from './state.ts'

export const paymentRules: Readonly<Record<string, Rule>> = {
  create_payment: create,
  get_payment: (state, action) => onPayment(state, action, paymentFacts),
  list_payments: ({ payments }, { party }) =>
    pageOf([...payments.values()].filter(({ sender }) => sender === party).map(paymentFacts)),
  cancel_payment: (state, action) => onPayment(state, action, (found) => cancel(state, found)),
  // Whoever tests plays the recipient, whichever wallet the payment is from.
  simulate_payment_claim: (state, { subject }) => claim(state, state.payments.get(subject ?? '')),
  // To the agent, a customer that does not let it act is none.
  fund_sandbox_wallet: (state, { subject, amount = 0 }) => {
    if (state.customers.get(subject ?? '')?.grant?.active !== true) return notFound
    move(walletOf(state, subject as PartyName), amount)
    return { type: 'transfer', kind: 'deposit', status: 'COMPLETED', amount, currency: 'USD' }
  },
}

export const approvalRules: Readonly<Record<string, Rule>> = {
  list_approvals: ({ approvals }, { party }) => {
    const found = [...approvals.values()].filter(({ payment }) => payment.sender === party)
    for (const approval of found) approval.told = true
    return pageOf(found.map(approvalFacts))
  },
  get_approval: (state, action) => {
    const found = state.approvals.get(action.subject ?? '')
    return found === undefined || found.payment.sender !== action.party ? notFound : approvalFacts(found)
  },
  // The two act on the agent's own party only, and the approvals of this run are all of customers.
  approve_approval: () => notFound,
  deny_approval: () => notFound,
  simulate_customer_approval: (state, { subject }) => decide(state, subject, 'approved'),
  simulate_customer_denial: (state, { subject }) => decide(state, subject, 'denied'),
}

function create(state: State, action: Action): Facts {
  const { party, payee = '', amount = 0 } = action
  const recipient = isParty(payee) ? payee : state.joined.has(payee) ? payee : null
  if (payee === party) return wrongValue('counterparty/value')
  // What could not be paid now is not worth anybody's decision (docs/service.md#funds).
  if (amount > walletOf(state, party).available) return refused('conflict', 409, '/data/attributes/amount')
  const made: ModelPayment = { name: madeBy(action), sender: party, payee, recipient, amount, status: 'IN_REVIEW' }
  state.payments.set(made.name, made)
  const limit = state.customers.get(party)?.grant?.limit ?? null
  if (limit === null || amount <= limit) send(state, made)
  else {
    const name = approvalOf(made.name)
    state.approvals.set(name, { name, payment: made, status: 'pending', limit, told: false })
  }
  return { ...paymentFacts(made), claimable: recipient === null }
}

/** To somebody known the money goes at once; for anybody else it is held (docs/service.md#payment). */
function send(state: State, payment: ModelPayment): void {
  const { sender, recipient, amount } = payment
  const wallet = walletOf(state, sender)
  wallet.available -= amount
  payment.status = recipient === null ? 'PENDING_CLAIM' : 'COMPLETED'
  if (recipient === null) return
  wallet.total -= amount
  if (isParty(recipient)) move(walletOf(state, recipient), amount)
}

function cancel(state: State, payment: ModelPayment): Facts {
  const { status, sender, amount, name } = payment
  if (status !== 'IN_REVIEW' && status !== 'PENDING_CLAIM') return conflict
  if (status === 'PENDING_CLAIM') walletOf(state, sender).available += amount
  const approval = state.approvals.get(approvalOf(name))
  if (approval?.status === 'pending') approval.status = 'canceled'
  payment.status = 'CANCELED'
  return paymentFacts(payment)
}

function claim(state: State, payment: ModelPayment | undefined): Facts {
  if (payment === undefined) return notFound
  if (payment.status !== 'PENDING_CLAIM') return conflict
  payment.status = 'COMPLETED'
  payment.recipient = payment.payee
  walletOf(state, payment.sender).total -= payment.amount
  state.joined.add(payment.payee)
  return paymentFacts(payment)
}

function decide(state: State, subject: string | undefined, status: 'approved' | 'denied'): Facts {
  const approval = state.approvals.get(subject ?? '')
  if (approval === undefined) return notFound
  const { payment } = approval
  if (approval.status !== 'pending') return conflict
  // The money may be gone by now (docs/service.md#approving).
  if (status === 'approved' && payment.amount > walletOf(state, payment.sender).available) return conflict
  approval.status = status
  if (status === 'approved') send(state, payment)
  else payment.status = 'APPROVAL_DENIED'
  return approvalFacts(approval)
}

function onPayment({ payments }: State, { subject, party }: Action, rule: (found: ModelPayment) => Facts): Facts {
  const found = payments.get(subject ?? '')
  return found === undefined || found.sender !== party ? notFound : rule(found)
}

/** The approval of a payment has its number. */
export function approvalOf(payment: string): string {
  return payment.replace('payment', 'approval')
}

function isParty(name: string): name is PartyName {
  return name === 'own' || name === 'customer' || isInvited(name)
}

export function paymentFacts({ name, status, amount, sender, recipient }: ModelPayment): PaymentFacts {
  const customer = sender === 'own' ? null : sender
  return { type: 'payment', name, status, amount, currency: 'USD', sender, recipient, customer, claimable: false }
}

export function approvalFacts({ name, status, payment, limit }: ModelApproval): ApprovalFacts {
  return {
    type: 'approval',
    name,
    status,
    payment: payment.name,
    amount: payment.amount,
    reasons: `perTransactionAmount ${limit}, was ${payment.amount}`,
    customer: payment.sender,
    initiator: 'agent',
    resolved: status !== 'pending',
  }
}
