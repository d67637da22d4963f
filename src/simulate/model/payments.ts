import { type Action, approvalOf, type PartyName } from '../action.ts'
import type { ApprovalFacts, Facts, PaymentFacts } from '../facts.ts'
import { transferFacts } from './banks.ts'
import {
  conflict,
  isParty,
  join,
  type ModelApproval,
  type ModelPayment,
  type ModelTransfer,
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
  fund_sandbox_wallet: (state, action) => {
    const { subject, amount = 0 } = action
    if (state.customers.get(subject ?? '')?.grant?.active !== true) return notFound
    const party = subject as PartyName
    move(walletOf(state, party), amount)
    const made: ModelTransfer = {
      name: madeBy(action),
      ...{
        party,
        amount,
        kind: 'deposit',
        status: 'COMPLETED',
        method: 'standard',
        account: null,
        next: null,
        why: null,
      },
    }
    state.transfers.set(made.name, made)
    return transferFacts(made)
  },
}

export const approvalRules: Readonly<Record<string, Rule>> = {
  list_approvals: ({ approvals }, { party }) => {
    const found = [...approvals.values()].filter((one) => one.party === party)
    for (const approval of found) approval.told = true
    return pageOf(found.map(approvalFacts))
  },
  get_approval: (state, action) => {
    const found = state.approvals.get(action.subject ?? '')
    return found === undefined || found.party !== action.party ? notFound : approvalFacts(found)
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
  const made: ModelPayment = {
    name: madeBy(action),
    ...{ sender: party, wallet: party, payee, recipient, amount },
    status: 'IN_REVIEW',
    delegated: party !== 'own',
    request: null,
  }
  payFor(state, party, made)
  return { ...paymentFacts(made), claimable: recipient === null }
}

/** Pays out of the sender's wallet, or asks first where that goes beyond what a customer allows. */
export function payFor(state: State, party: PartyName, made: ModelPayment): void {
  const { name, amount } = made
  state.payments.set(name, made)
  const limit = state.customers.get(party)?.grant?.limit ?? null
  if (limit === null || amount <= limit) {
    send(state, party, made)
    return
  }
  const carryOut = () => send(state, party, made)
  const approval = { name: approvalOf(name), of: made, party, needs: amount, carryOut, limit }
  state.approvals.set(approval.name, { ...approval, status: 'pending', told: false })
}

/** To somebody known the money goes at once; for anybody else it is held (docs/service.md#payment). */
function send(state: State, party: PartyName, payment: ModelPayment): void {
  const { recipient, amount } = payment
  const wallet = walletOf(state, party)
  wallet.available -= amount
  payment.status = recipient === null ? 'PENDING_CLAIM' : 'COMPLETED'
  followPayment(state, payment)
  if (recipient === null) return
  wallet.total -= amount
  if (isParty(recipient)) move(walletOf(state, recipient), amount)
}

/** A request is paid by its payment, or open again when that came to nothing (docs/service.md#payment-requests). */
function followPayment({ requests, nowMs }: State, { request: of, status }: ModelPayment): void {
  const request = requests.get(of ?? '')
  if (request === undefined) return
  if (status === 'COMPLETED') request.status = 'COMPLETED'
  if (status !== 'CANCELED' && status !== 'APPROVAL_DENIED') return
  request.status = request.expiresAtMs <= nowMs ? 'EXPIRED' : 'OPEN'
  request.payment = null
}

function cancel(state: State, payment: ModelPayment): Facts {
  const { status, amount, name, wallet } = payment
  if (status !== 'IN_REVIEW' && status !== 'PENDING_CLAIM') return conflict
  if (status === 'PENDING_CLAIM' && wallet !== null) walletOf(state, wallet).available += amount
  const approval = state.approvals.get(approvalOf(name))
  if (approval?.status === 'pending') approval.status = 'canceled'
  payment.status = 'CANCELED'
  followPayment(state, payment)
  return paymentFacts(payment)
}

function claim(state: State, payment: ModelPayment | undefined): Facts {
  if (payment === undefined) return notFound
  if (payment.status !== 'PENDING_CLAIM') return conflict
  payment.status = 'COMPLETED'
  payment.recipient = payment.payee
  if (payment.wallet !== null) walletOf(state, payment.wallet).total -= payment.amount
  join(state, payment.payee)
  return paymentFacts(payment)
}

function decide(state: State, subject: string | undefined, status: 'approved' | 'denied'): Facts {
  const approval = state.approvals.get(subject ?? '')
  if (approval === undefined) return notFound
  const { of, party, needs } = approval
  if (approval.status !== 'pending') return conflict
  // The money may be gone by now (docs/service.md#approving).
  if (status === 'approved' && needs > walletOf(state, party).available) return conflict
  approval.status = status
  if (status === 'approved') approval.carryOut()
  else of.status = 'APPROVAL_DENIED'
  if ('sender' in of && status === 'denied') followPayment(state, of)
  return approvalFacts(approval)
}

function onPayment({ payments }: State, { subject, party }: Action, rule: (found: ModelPayment) => Facts): Facts {
  const found = payments.get(subject ?? '')
  return found === undefined || found.sender !== party ? notFound : rule(found)
}

export function paymentFacts(payment: ModelPayment): PaymentFacts {
  const { name, status, amount, sender, recipient, delegated, request } = payment
  return {
    ...{ type: 'payment', name, status, amount, currency: 'USD', sender, recipient, request },
    customer: delegated ? sender : null,
    claimable: false,
  }
}

export function approvalFacts({ name, status, of, party, limit }: ModelApproval): ApprovalFacts {
  return {
    type: 'approval',
    name,
    status,
    payment: of.name,
    amount: of.amount,
    reasons: `perTransactionAmount ${limit}, was ${of.amount}`,
    customer: party,
    initiator: 'agent',
    resolved: status !== 'pending',
  }
}
