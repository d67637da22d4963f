import { expect } from 'vitest'
import { book, type Planner, receive, sendOrReview, totalsOverLimits } from './money.ts'
import {
  chosen,
  type Party,
  type Payment,
  type PaymentRequest,
  partnerOf,
  payeeOf,
  type State,
  thirtyDaysMs,
} from './state.ts'

export const ask: Planner<'ask'> = (self, { by, amount, payer: choice }, state) => {
  const payer =
    choice === 'partner' ? partnerOf(self, state) : choice === 'customer' ? self.customers[0]?.account : choice
  if (payer === undefined) return undefined
  const payerAddress =
    typeof payer === 'number'
      ? { type: 'email', value: payeeOf(self, payer) }
      : { type: 'party_id', value: payer.partyId }
  return {
    path: '/payment-requests',
    by,
    attributes: { amount, payer: payerAddress },
    expected: 201,
    done: ({ id }) => {
      const expiresAtMs = state.nowMs + thirtyDaysMs
      state.requests.push({ id, amount, status: 'OPEN', from: self, payer, expiresAtMs })
    },
  }
}

const isOpen = ({ status }: PaymentRequest) => status === 'OPEN'
const okIfOpen = (request: PaymentRequest) => (isOpen(request) ? 200 : 409)
const requestsTo = (self: Party, { requests }: State) => requests.filter(({ payer }) => payer === self)
const requestsFrom = (self: Party, { requests }: State) => requests.filter(({ from }) => from === self)

export const fulfill: Planner<'fulfill'> = (self, { by, pick }, state) => {
  const request = chosen(requestsTo(self, state), pick, isOpen)
  if (request === undefined || self.walletId === '') return undefined
  const { amount, from: to } = request
  const over = by === 'agent' ? totalsOverLimits(self, amount, state.nowMs) : []
  return {
    path: `/payment-requests/${request.id}/fulfill`,
    by,
    attributes: { paymentSource: { type: 'wallet', walletId: self.walletId } },
    expected: isOpen(request) && amount <= self.purchases.balance.available ? 200 : 409,
    done: ({ id, attributes }) => {
      request.status = 'PROCESSING'
      const fields = { id, amount, status: 'IN_REVIEW', by, to, isKnown: true, createdAtMs: state.nowMs }
      const payment: Payment = { ...fields, request }
      sendOrReview(self, payment, over, state)
      expect(attributes.status).toBe(payment.status)
    },
  }
}

const closeRequest =
  (status: string, listRequests: typeof requestsFrom, path: (id: string) => string): Planner<unknown> =>
  (self, action, state) => {
    const { pick } = action as unknown as { pick: number }
    const request = chosen(listRequests(self, state), pick, isOpen)
    if (request === undefined) return undefined
    const done = () => {
      request.status = status
    }
    return { path: path(request.id), by: 'agent', attributes: {}, expected: okIfOpen(request), done }
  }

export const declineRequest = closeRequest('DECLINED', requestsTo, (id) => `/payment-requests/${id}/decline`)
export const cancelRequest = closeRequest('CANCELED', requestsFrom, (id) => `/payment-requests/${id}/cancel`)

/**
 * Simulates the payer's answer to a payment request. Payers pay by card, and a stranger who pays joins the service. The
 * sandbox refuses to simulate the answer of a self-managed party.
 */
export const playPayer: Planner<'playPayer'> = (self, { pick, answer }, state) => {
  const request = chosen(requestsFrom(self, state), pick, isOpen)
  if (request === undefined) return undefined
  const { payer, amount } = request
  const isSelfManaged = typeof payer !== 'number' && state.parties.includes(payer)
  return {
    path: `/simulations/payment-requests/${request.id}/${answer}`,
    by: 'agent',
    expected: isSelfManaged ? 409 : okIfOpen(request),
    done: ({ id }) => {
      request.status = answer === 'fulfill' ? 'COMPLETED' : 'DECLINED'
      if (answer === 'decline') return
      const paid = { id, amount, status: 'COMPLETED', by: 'party', to: self, isKnown: true } as const
      if (typeof payer === 'number') self.joined.add(payer)
      else payer.payments.push({ ...paid, createdAtMs: state.nowMs })
      const move = { sourceId: id, amount, type: 'payment', atMs: state.nowMs } as const
      // The payment is also listed in a customer's account, although the customer paid by card and not from the wallet.
      if (typeof payer !== 'number') book(payer, { ...move, direction: 'OUTBOUND' }, self.partyId)
      receive(self, move)
    },
  }
}

export function expireRequests({ requests, nowMs }: State): void {
  for (const request of requests) if (isOpen(request) && request.expiresAtMs <= nowMs) request.status = 'EXPIRED'
}
