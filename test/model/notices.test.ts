import { describe, expect, test } from 'vitest'
import { alterAnswers, type Fault, type Fetch, matches, rekey, sendTwice } from '../simulate/in-process.ts'
import { databasesForLong } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld } from '../support/world.ts'
import type { Action } from './actions.ts'
import { compareList, compareMoney } from './compare.ts'
import { listsOf } from './lists.ts'
import { passTo, perform, start } from './run.ts'

const pay = (amount: number, to: 'partner' | number = 'partner'): Action => ({ type: 'pay', by: 'agent', amount, to })
const daysLater = (days: number): Action => ({ type: 'pass', minutes: days * 24 * 60 })
const pick = 1
const invited: Action[] = [
  { type: 'invite', person: 0, pick, permissions: ['payments.create', 'payments.read'], perTransaction: 500 },
]
const subscribed: Action[] = [
  { type: 'subscribe', unit: 'week', count: 1, parts: 1 },
  { type: 'checkout', pick, card: 'approves' },
]
const askAction: Action = { type: 'ask', by: 'agent', amount: 200, payer: 0 }
const bankTransfer = (kind: 'deposit' | 'withdrawal', ...outcomes: ('settle' | 'fail' | 'return')[]): Action[] => [
  { type: 'link', by: 'agent', token: 'some-rejected' },
  { type: 'transfer', by: 'agent', kind, pick, amount: 200, method: 'standard' },
  ...outcomes.map((outcome): Action => ({ type: 'playBank', pick, outcome })),
]

/** Returns a fault that passes matching requests to `handle` and not to the service. */
const handleInstead =
  (method: string, path: RegExp, handle: (request: Request, fetch: Fetch) => Promise<Response>): Fault =>
  (fetch) =>
  (request) =>
    matches(request, method, path) ? handle(request, fetch) : fetch(request)

function changePath(request: Request, from: RegExp, to: string): Request {
  const url = new URL(request.url)
  url.pathname = url.pathname.replace(from, to)
  return new Request(url, request)
}

type Change = [from: RegExp, to: string]
const editAnswer = async (answer: Promise<Response>, ...changes: Change[]) => {
  const response = await answer
  const text = await response.text()
  const edited = changes.reduce((result, [from, to]) => result.replace(from, to), text)
  return new Response(edited, response)
}

/** Returns a fault that reads the record instead of changing it, and edits the answer as if the record had changed. */
const editReadAnswer = (method: string, path: RegExp, ...changes: Change[]): Fault =>
  handleInstead(method, path, (request, fetch) => {
    const { url } = changePath(request, /^(?:\/simulations)?(.*)\/[a-z]+$/, '$1')
    return editAnswer(fetch(new Request(url, { headers: request.headers })), ...changes)
  })

/**
 * Broken services. Each breaks a rule about payments, approvals, customers, subscriptions, payment requests, bank
 * transfers or idempotency keys.
 */
const brokenServices: { name: string; history: Action[]; fault: Fault }[] = [
  { name: 'makes a payment twice', history: [pay(100)], fault: sendTwice(/\/payments$/) },
  {
    name: 'lets a payment exceed a limit',
    history: [pay(600)],
    fault: alterAnswers('POST', /\/payments$/, (text) => text.replace('IN_REVIEW', 'COMPLETED')),
  },
  {
    name: 'makes a payment that was denied',
    history: [pay(600), { type: 'deny', pick }],
    fault: handleInstead('POST', /\/deny$/, (request, fetch) =>
      editAnswer(fetch(changePath(request, /deny$/, 'approve')), [/"approved"/, '"denied"']),
    ),
  },
  {
    name: 'lets a payment be claimed twice',
    history: [pay(100, 1), { type: 'claim', pick }],
    fault: sendTwice(/\/complete-claim$/),
  },
  {
    name: 'cancels a payment but keeps its money',
    history: [pay(100, 1), { type: 'cancel', pick }],
    fault: editReadAnswer('POST', /\/payments\/[^/]+\/cancel$/, [/"PENDING_CLAIM"/, '"CANCELED"']),
  },
  {
    name: 'lets an agent act after its grant ended',
    history: [
      ...invited,
      { type: 'accept', pick },
      { type: 'removeCustomer', pick },
      { type: 'act', pick, action: { type: 'subscribe', unit: 'week', count: 1, parts: 1 } },
    ],
    fault: handleInstead('DELETE', /\/customers\/pty/, (request, fetch) =>
      fetch(new Request(request.url, { headers: request.headers })),
    ),
  },
  {
    name: 'accepts an invitation that was declined',
    history: [...invited, { type: 'decline', pick }],
    fault: handleInstead('POST', /\/decline$/, (request, fetch) => fetch(changePath(request, /decline$/, 'accept'))),
  },
  {
    name: 'lists a paid charge as scheduled',
    history: [...subscribed, daysLater(8)],
    fault: alterAnswers('GET', /\/subscriptions\/[^/]+\/payments$/, (text) => text.replace('"paid"', '"scheduled"')),
  },
  {
    name: 'charges for a canceled subscription',
    history: [...subscribed, { type: 'cancelSubscription', pick }, daysLater(8)],
    fault: editReadAnswer('POST', /\/subscriptions\/[^/]+\/cancel$/),
  },
  {
    name: 'does not report a missed payment',
    history: [...subscribed, { type: 'changeCard', pick, card: 'declines', ahead: undefined }, daysLater(13)],
    fault: alterAnswers('GET', /\/subscriptions$/, (text) =>
      text.replace(/"missedPayments":\[[^\]]+\]/, '"missedPayments":[]'),
    ),
  },
  {
    name: 'lets a payment request be paid twice',
    history: [askAction, { type: 'playPayer', pick, answer: 'fulfill' }],
    fault: sendTwice(/\/fulfill$/),
  },
  {
    name: 'lists a declined payment request as open',
    history: [askAction, { type: 'playPayer', pick, answer: 'decline' }],
    fault: alterAnswers('GET', /\/payment-requests$/, (text) => text.replace('"DECLINED"', '"OPEN"')),
  },
  {
    name: 'lists an expired payment request as open',
    history: [askAction, daysLater(30)],
    fault: alterAnswers('GET', /\/payment-requests$/, (text) => text.replace('"EXPIRED"', '"OPEN"')),
  },
  {
    name: 'reports a new deposit as completed',
    history: bankTransfer('deposit'),
    fault: alterAnswers('POST', /\/transfers\/deposit$/, (text) => text.replace('"PROCESSING"', '"COMPLETED"')),
  },
  {
    name: 'announces a wrong day for a deposit',
    history: bankTransfer('deposit'),
    fault: alterAnswers('POST', /\/transfers\/deposit$/, (text) =>
      text.replace(/"expectedAvailableAt":"(.{8})../, '"expectedAvailableAt":"$131'),
    ),
  },
  { name: 'settles a deposit twice', history: bankTransfer('deposit', 'settle'), fault: sendTwice(/\/settle$/) },
  {
    name: 'keeps the money of a failed withdrawal',
    history: bankTransfer('withdrawal', 'fail'),
    fault: editReadAnswer('POST', /\/fail$/, [/"PROCESSING"/, '"FAILED"']),
  },
  {
    name: 'does not deduct a returned deposit',
    history: bankTransfer('deposit', 'settle', 'return'),
    fault: editReadAnswer('POST', /\/return$/, [/"COMPLETED"/, '"RETURNED"']),
  },
  {
    name: 'ignores idempotency keys',
    history: Array.from({ length: 4 }, () => pay(100)),
    fault: (fetch) => {
      const seen = new Set<string | null>()
      return (request) => {
        const key = request.headers.get('Idempotency-Key')
        const sent = seen.has(key) ? rekey(request) : request
        seen.add(key)
        return fetch(sent)
      }
    },
  },
]

describe.each(databasesForLong)('comparison of the service with the model on $name', (database) => {
  test.each(sampleOf(brokenServices, 4))('the model exposes a service that $name', async ({ history, fault }) => {
    const world = await createWorld(database)
    const { service } = world
    const compareHistory = async (fetch: Fetch) => {
      const state = await start(world, 3000, { perTransaction: 500 })
      service.fetch = fetch
      for (const action of history) await perform(world, state, 0, action)
      passTo(state, world.system.now())
      for (const list of listsOf(state.parties[0], state)) await compareList(world, state.parties[0], list)
      await compareMoney(world, state)
    }
    const soundFetch = service.fetch
    await compareHistory(soundFetch)
    await expect(compareHistory(fault(soundFetch))).rejects.toThrow(/expected/)
    service.fetch = soundFetch
    await world.drop()
  })
})
