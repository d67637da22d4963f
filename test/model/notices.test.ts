import { describe, expect, test } from 'vitest'
import { alterAnswers, type Fault, type Fetch, matches, otherKey, sendTwice } from '../simulate/in-process.ts'
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
const at = (kind: 'deposit' | 'withdrawal', ...outcomes: ('settle' | 'fail' | 'return')[]): Action[] => [
  { type: 'link', by: 'agent', token: 'some-rejected' },
  { type: 'transfer', by: 'agent', kind, pick, amount: 200, method: 'standard' },
  ...outcomes.map((outcome): Action => ({ type: 'playBank', pick, outcome })),
]

/** Returns a fault that replaces a request by a different one. */
const instead =
  (method: string, path: RegExp, other: (request: Request, fetch: Fetch) => Promise<Response>): Fault =>
  (fetch) =>
  (request) =>
    matches(request, method, path) ? other(request, fetch) : fetch(request)

function changeAddress(request: Request, from: RegExp, to: string): Request {
  const url = new URL(request.url)
  url.pathname = url.pathname.replace(from, to)
  return new Request(url, request)
}

type Change = [from: RegExp, to: string]
const editAnswer = async (answer: Promise<Response>, ...changes: Change[]) => {
  const response = await answer
  const text = await response.text()
  const edited = changes.reduce((shown, [from, to]) => shown.replace(from, to), text)
  return new Response(edited, response)
}

/** Returns a fault that only reads the resource, and edits the answer as if the action had happened. */
const editReadAnswer = (method: string, path: RegExp, ...changes: Change[]): Fault =>
  instead(method, path, (request, fetch) => {
    const { url } = changeAddress(request, /^(?:\/simulations)?(.*)\/[a-z]+$/, '$1')
    return editAnswer(fetch(new Request(url, { headers: request.headers })), ...changes)
  })

/** Services that break a rule of payments, approvals, customers, subscriptions, payment requests, banks or keys. */
const brokenModels: { name: string; history: Action[]; fault: Fault }[] = [
  { name: 'pays twice', history: [pay(100)], fault: sendTwice(/\/payments$/) },
  {
    name: 'requests no approval for a payment above a limit',
    history: [pay(600)],
    fault: alterAnswers('POST', /\/payments$/, (text) => text.replace('IN_REVIEW', 'COMPLETED')),
  },
  {
    name: 'pays what was refused',
    history: [pay(600), { type: 'deny', pick }],
    fault: instead('POST', /\/deny$/, (request, fetch) =>
      editAnswer(fetch(changeAddress(request, /deny$/, 'approve')), [/"approved"/, '"denied"']),
    ),
  },
  {
    name: 'lets a payment be claimed twice',
    history: [pay(100, 1), { type: 'claim', pick }],
    fault: sendTwice(/\/complete-claim$/),
  },
  {
    name: 'cancels a payment without returning the money',
    history: [pay(100, 1), { type: 'cancel', pick }],
    fault: editReadAnswer('POST', /\/payments\/[^/]+\/cancel$/, [/"PENDING_CLAIM"/, '"CANCELED"']),
  },
  {
    name: 'lets an agent act after its grant has ended',
    history: [
      ...invited,
      { type: 'accept', pick },
      { type: 'removeCustomer', pick },
      { type: 'act', pick, action: { type: 'subscribe', unit: 'week', count: 1, parts: 1 } },
    ],
    fault: instead('DELETE', /\/customers\/pty/, (request, fetch) =>
      fetch(new Request(request.url, { headers: request.headers })),
    ),
  },
  {
    name: 'connects a customer who declined',
    history: [...invited, { type: 'decline', pick }],
    fault: instead('POST', /\/decline$/, (request, fetch) => fetch(changeAddress(request, /decline$/, 'accept'))),
  },
  {
    name: 'hides a charge',
    history: [...subscribed, daysLater(8)],
    fault: alterAnswers('GET', /\/subscriptions\/[^/]+\/payments$/, (text) => text.replace('"paid"', '"scheduled"')),
  },
  {
    name: 'keeps collecting after a subscription is canceled',
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
    name: 'lets a request be paid twice',
    history: [askAction, { type: 'playPayer', pick, answer: 'fulfill' }],
    fault: sendTwice(/\/fulfill$/),
  },
  {
    name: 'keeps a declined request open',
    history: [askAction, { type: 'playPayer', pick, answer: 'decline' }],
    fault: alterAnswers('GET', /\/payment-requests$/, (text) => text.replace('"DECLINED"', '"OPEN"')),
  },
  {
    name: 'never lets a request expire',
    history: [askAction, daysLater(30)],
    fault: alterAnswers('GET', /\/payment-requests$/, (text) => text.replace('"EXPIRED"', '"OPEN"')),
  },
  {
    name: 'completes a deposit at once',
    history: at('deposit'),
    fault: alterAnswers('POST', /\/transfers\/deposit$/, (text) => text.replace('"PROCESSING"', '"COMPLETED"')),
  },
  {
    name: 'announces the wrong day for a deposit',
    history: at('deposit'),
    fault: alterAnswers('POST', /\/transfers\/deposit$/, (text) =>
      text.replace(/"expectedAvailableAt":"(.{8})../, '"expectedAvailableAt":"$131'),
    ),
  },
  { name: 'settles twice', history: at('deposit', 'settle'), fault: sendTwice(/\/settle$/) },
  {
    name: 'does not return a withdrawal that the bank rejected',
    history: at('withdrawal', 'fail'),
    fault: editReadAnswer('POST', /\/fail$/, [/"PROCESSING"/, '"FAILED"']),
  },
  {
    name: 'keeps the money of a deposit that the bank returned',
    history: at('deposit', 'settle', 'return'),
    fault: editReadAnswer('POST', /\/return$/, [/"COMPLETED"/, '"RETURNED"']),
  },
  {
    name: 'carries out an action twice for one idempotency key',
    history: Array.from({ length: 4 }, () => pay(100)),
    fault: (fetch) => {
      const seen = new Set<string | null>()
      return (request) => {
        const key = request.headers.get('Idempotency-Key')
        const again = seen.has(key) ? otherKey(request) : request
        seen.add(key)
        return fetch(again)
      }
    },
  },
]

describe.each(databasesForLong)('on $name, the model', (database) => {
  test.each(sampleOf(brokenModels, 4))('notices a service that $name', async ({ history, fault }) => {
    const world = await createWorld(database)
    const { service } = world
    const noticed = async (fetch: Fetch) => {
      const state = await start(world, 3000, { perTransaction: 500 })
      service.fetch = fetch
      for (const action of history) await perform(world, state, 0, action)
      passTo(state, world.system.now())
      for (const list of listsOf(state.parties[0], state)) await compareList(world, state.parties[0], list)
      await compareMoney(world, state)
    }
    const sound = service.fetch
    await noticed(sound)
    await expect(noticed(fault(sound))).rejects.toThrow(/expected/)
    service.fetch = sound
    await world.drop()
  })
})
