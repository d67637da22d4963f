import { expect } from 'vitest'
import { book, type Planner, receive, sendOrReview, totalsOverLimits } from './money.ts'
import {
  chosen,
  monthOfDaysMs,
  type Party,
  type Payment,
  type PaymentRequest,
  partnerOf,
  payeeOf,
  type State,
} from './state.ts'

export const ask: Planner<'ask'> = (self, { by, amount, payer: choice }, state) => {
  const payer =
    choice === 'partner' ? partnerOf(self, state) : choice === 'customer' ? self.customers[0]?.account : choice
  if (payer === undefined) return undefined
  const named =
    typeof payer === 'number'
      ? { type: 'email', value: payeeOf(self, payer) }
      : { type: 'party_id', value: payer.partyId }
  return {
    path: '/payment-requests',
    by,
    attributes: { amount, payer: named },
    expected: 201,
    done: ({ id }) => {
      const expiresAtMs = state.nowMs + monthOfDaysMs
      state.requests.push({ id, amount, status: 'OPEN', from: self, payer, expiresAtMs })
    },
  }
}

const isOpen = ({ status }: PaymentRequest) => status === 'OPEN'
const ifOpen = (one: PaymentRequest) => (isOpen(one) ? 200 : 409)
const askedOf = (self: Party, { requests }: State) => requests.filter(({ payer }) => payer === self)
const askedBy = (self: Party, { requests }: State) => requests.filter(({ from }) => from === self)

export const fulfill: Planner<'fulfill'> = (self, { by, pick }, state) => {
  const one = chosen(askedOf(self, state), pick, isOpen)
  if (one === undefined || self.walletId === '') return undefined
  const { amount, from: to } = one
  const over = by === 'agent' ? totalsOverLimits(self, amount, state.nowMs) : []
  return {
    path: `/payment-requests/${one.id}/fulfill`,
    by,
    attributes: { paymentSource: { type: 'wallet', walletId: self.walletId } },
    expected: isOpen(one) && amount <= self.purchases.balance.available ? 200 : 409,
    done: ({ id, attributes }) => {
      one.status = 'PROCESSING'
      const request = { id, amount, status: 'IN_REVIEW', by, to, isKnown: true, createdAtMs: state.nowMs }
      const payment: Payment = { ...request, request: one }
      sendOrReview(self, payment, over, state)
      expect(attributes.status).toBe(payment.status)
    },
  }
}

const end =
  (status: string, whose: typeof askedBy, path: (id: string) => string): Planner<unknown> =>
  (self, action, state) => {
    const { pick } = action as unknown as { pick: number }
    const one = chosen(whose(self, state), pick, isOpen)
    if (one === undefined) return undefined
    const done = () => {
      one.status = status
    }
    return { path: path(one.id), by: 'agent', attributes: {}, expected: ifOpen(one), done }
  }

export const declineRequest = end('DECLINED', askedOf, (id) => `/payment-requests/${id}/decline`)
export const cancelRequest = end('CANCELED', askedBy, (id) => `/payment-requests/${id}/cancel`)

/** Acts as the payer, who pays by card and so joins. The sandbox cannot act as a party with credentials. */
export const playPayer: Planner<'playPayer'> = (self, { pick, answer }, state) => {
  const one = chosen(askedBy(self, state), pick, isOpen)
  if (one === undefined) return undefined
  const { payer, amount } = one
  const itself = typeof payer !== 'number' && state.parties.includes(payer)
  return {
    path: `/simulations/payment-requests/${one.id}/${answer}`,
    by: 'agent',
    expected: itself ? 409 : ifOpen(one),
    done: ({ id }) => {
      one.status = answer === 'fulfill' ? 'COMPLETED' : 'DECLINED'
      if (answer === 'decline') return
      const paid = { id, amount, status: 'COMPLETED', by: 'party', to: self, isKnown: true } as const
      if (typeof payer === 'number') self.joined.add(payer)
      else payer.payments.push({ ...paid, createdAtMs: state.nowMs })
      const move = { sourceId: id, amount, type: 'payment', atMs: state.nowMs } as const
      // A known payer sees the payment too, although it was paid by card and not from a wallet.
      if (typeof payer !== 'number') book(payer, { ...move, direction: 'OUTBOUND' }, self.partyId)
      receive(self, move)
    },
  }
}

export function expireRequests({ requests, nowMs }: State): void {
  for (const one of requests) if (isOpen(one) && one.expiresAtMs <= nowMs) one.status = 'EXPIRED'
}
