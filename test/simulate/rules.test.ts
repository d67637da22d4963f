import { describe, expect, it } from 'vitest'
import type { Action } from '../../src/simulate/action.ts'
import { runHistory } from '../../src/simulate/run.ts'
import { databasesForLong } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { altering, doubling, type Fault, type Fetch, inProcess, matching, otherKey } from './in-process.ts'

type Step = Pick<Action, 'tool'> & Partial<Action>

const permissions = ['payments.create', 'payments.read', 'wallets.read']
const invited: Step = {
  tool: 'simulate_customer_invitation',
  invites: 'customer-1',
  permissions,
  makes: 'invitation-1',
}
/** A customer lets the agent pay 500 cents at once, and has 20,000. */
const connected: Step[] = [
  invited,
  { tool: 'revoke_agent_invitation', subject: 'invitation-1' },
  {
    ...{ tool: 'create_agent_customer_invitation', invites: 'customer-1', permissions, limit: 500 },
    makes: 'invitation-2',
  },
  { tool: 'simulate_invitation_acceptance', subject: 'invitation-2' },
  { tool: 'fund_sandbox_wallet', subject: 'customer-1', amount: 20_000, makes: 'transfer-9' },
]

function payment(party: Action['party'], payee: string, amount: number, makes = 'payment-1'): Step {
  return {
    tool: 'create_payment',
    party,
    payee,
    by: payee.startsWith('stranger') ? 'email' : 'party_id',
    amount,
    makes,
  }
}

const inReview: Step[] = [
  ...connected,
  payment('customer-1', 'stranger-1', 600),
  { tool: 'list_approvals', party: 'customer-1' },
]
const subscribed: Step[] = [
  { ...{ tool: 'create_subscription', unit: 'week', count: 1, amount: 500, tax: 0 }, makes: 'subscription-1' },
  { tool: 'simulate_subscription_checkout', subject: 'subscription-1', card: 'approves' },
]
const requested: Step = {
  ...{ tool: 'create_payment_request', payee: 'customer', by: 'party_id', amount: 700 },
  makes: 'request-1',
}
const linked: Step = { tool: 'link_external_accounts', token: 'accounts' }
const account = 'account-0000-of-own'
const deposit: Step[] = [linked, { tool: 'create_deposit', account, amount: 900, makes: 'transfer-1' }]
const withdrawal: Step[] = [linked, { tool: 'create_withdrawal', account, amount: 900, makes: 'transfer-1' }]
/** What a bank does with the transfer. */
const bank = (what: 'settlement' | 'failure' | 'return'): Step => ({
  tool: `simulate_transfer_${what}`,
  subject: 'transfer-1',
})
const daysLater = (days: number): Step => ({ tool: 'advance_sandbox_clock', seconds: days * 86_400 })

const card: Step = { tool: 'issue_agent_card', merchant: 'Books', maximum: 100, makes: 'card-1' }

/** Carries something else out than what was asked for. */
const instead =
  (method: string, path: RegExp, other: (request: Request, fetch: Fetch) => Promise<Response>): Fault =>
  (fetch) =>
  (request) =>
    matching(request, method, path) ? other(request, fetch) : fetch(request)

/** The same request to another address. */
function readdressed(request: Request, from: RegExp, to: string): Request {
  const url = new URL(request.url)
  url.pathname = url.pathname.replace(from, to)
  return new Request(url, request)
}

const changed = async (answer: Promise<Response>, ...changes: [RegExp, string][]) => {
  const response = await answer
  const text = await response.text()
  return new Response(
    changes.reduce((shown, [from, to]) => shown.replace(from, to), text),
    response,
  )
}

/** Answers that a transfer is something else now, and does nothing. */
const onlySaid = (path: RegExp, ...changes: [RegExp, string][]): Fault =>
  instead('POST', path, (request, fetch) => {
    const { url } = readdressed(request, /^\/simulations(.*)\/[a-z]+$/, '$1')
    return changed(fetch(new Request(url, { headers: request.headers })), ...changes)
  })

/** Each breaks a rule of payments, requests, approvals, banks, subscriptions, invitations or frozen cards. */
const broken: { name: string; history: Step[]; fault: Fault }[] = [
  {
    name: 'pays twice',
    history: [payment('own', 'customer', 100)],
    fault: doubling(/\/payments$/),
  },
  {
    name: 'asks nobody about a payment beyond a limit',
    history: inReview,
    fault: altering('POST', /\/payments$/, (text) => text.replace('IN_REVIEW', 'COMPLETED')),
  },
  {
    name: 'pays what the customer refused',
    history: [...inReview, { tool: 'simulate_customer_denial', subject: 'approval-1' }],
    fault: instead('POST', /approvals\/[^/]+\/deny$/, (request, fetch) =>
      changed(fetch(readdressed(request, /deny$/, 'approve')), [/"approved"/, '"denied"']),
    ),
  },
  {
    name: 'lets a payment be claimed twice',
    history: [
      payment('own', 'stranger-1', 100),
      { tool: 'simulate_payment_claim', subject: 'payment-1', payee: 'stranger-1' },
    ],
    fault: doubling(/\/complete-claim$/),
  },
  {
    name: 'cancels a payment, and keeps its money',
    history: [payment('own', 'stranger-1', 100), { tool: 'cancel_payment', subject: 'payment-1' }],
    fault: instead('POST', /\/payments\/[^/]+\/cancel$/, (request, fetch) => {
      const read = new Request(request.url.replace(/\/cancel$/, ''), { headers: request.headers })
      return changed(fetch(read), [/"(PENDING_CLAIM|IN_REVIEW)"/, '"CANCELED"'])
    }),
  },
  {
    name: 'lets an agent act whose grant was revoked',
    history: [
      ...connected,
      { tool: 'simulate_agent_revocation', subject: 'customer-1' },
      { tool: 'list_wallets', party: 'customer-1' },
    ],
    fault: instead('POST', /\/agents\/[^/]+\/revoke$/, (request, fetch) => {
      const path = request.url.replace('/simulations', '').replace(/\/agents\/.*$/, '')
      return changed(fetch(new Request(path, { headers: request.headers })), [/"ACTIVE"/g, '"REVOKED"'])
    }),
  },
  {
    name: 'connects a customer who declined',
    history: [
      invited,
      { tool: 'simulate_invitation_decline', subject: 'invitation-1' },
      { tool: 'get_customer', subject: 'customer-1' },
    ],
    fault: instead('POST', /\/decline$/, (request, fetch) =>
      changed(
        fetch(readdressed(request, /decline$/, 'accept')),
        [/"ACCEPTED"/g, '"DECLINED"'],
        [/"customerParty":\{[^}]*\}\}/, '"customerParty":{"data":null}'],
      ),
    ),
  },
  {
    name: 'charges another amount',
    history: subscribed,
    fault: altering('GET', /\/subscriptions\/[^/]+\/payments$/, (text) => text.replace(/"paid"/, '"scheduled"')),
  },
  {
    name: 'goes on collecting after a cancel',
    history: [...subscribed, { tool: 'cancel_subscription', subject: 'subscription-1' }],
    fault: instead('POST', /\/subscriptions\/[^/]+\/cancel$/, (request, fetch) => {
      const read = new Request(request.url.replace(/\/cancel$/, ''), { headers: request.headers })
      return changed(
        fetch(read),
        [/"status":"[a-z_]+"/, '"status":"canceled"'],
        [/"nextPayment":\{[^}]*\}/, '"nextPayment":null'],
        [/"checkoutUrl":"[^"]*"/, '"checkoutUrl":null'],
        [/"expiresAt":"[^"]*"/, '"expiresAt":null'],
      )
    }),
  },
  {
    name: 'forgets that a payment was missed',
    history: [
      ...subscribed,
      { tool: 'simulate_subscription_card', subject: 'subscription-1', card: 'declines' },
      { tool: 'advance_sandbox_clock', seconds: 13 * 86_400 },
      { tool: 'get_subscription', subject: 'subscription-1' },
    ],
    fault: (fetch) => async (request) => {
      const response = await fetch(request)
      if (!/\/subscriptions/.test(request.url) || response.status !== 200) return response
      return new Response(
        (await response.text()).replaceAll(/"missedPayments":\[[^\]]+\]/g, '"missedPayments":[]'),
        response,
      )
    },
  },
  {
    name: 'lets a frozen card pay',
    history: [
      card,
      { tool: 'freeze_agent_card', subject: 'card-1' },
      { tool: 'simulate_card_authorization', subject: 'card-1', amount: 5, merchant: 'Books', makes: 'purchase-1' },
    ],
    fault: (fetch) => async (request) => {
      if (matching(request, 'POST', /\/authorize$/)) {
        const unfreeze = readdressed(request.clone(), /\/simulations(.*)\/authorize$/, '$1/unfreeze')
        await fetch(otherKey(new Request(unfreeze, { body: '{"data":{"attributes":{}}}' })))
      }
      return fetch(request)
    },
  },
  {
    name: 'lets a request be paid twice',
    history: [
      requested,
      { tool: 'fulfill_payment_request', party: 'customer', subject: 'request-1', makes: 'payment-1' },
    ],
    fault: doubling(/\/fulfill$/),
  },
  {
    name: 'keeps a request open that was declined',
    history: [
      requested,
      { tool: 'decline_payment_request', party: 'customer', subject: 'request-1' },
      { tool: 'get_payment_request', subject: 'request-1' },
    ],
    fault: altering('GET', /\/payment-requests\/[^/]+$/, (text) => text.replace('"DECLINED"', '"OPEN"')),
  },
  {
    name: 'lets a request stay open for ever',
    history: [requested, daysLater(30), { tool: 'get_payment_request', subject: 'request-1' }],
    fault: altering('GET', /\/payment-requests/, (text) => text.replace('"EXPIRED"', '"OPEN"')),
  },
  {
    name: 'has a deposit at once',
    history: deposit,
    fault: altering('POST', /\/transfers\/deposit$/, (text) => text.replace('"PROCESSING"', '"COMPLETED"')),
  },
  {
    name: 'settles a deposit a day late',
    history: [...deposit, { tool: 'get_transfer', subject: 'transfer-1' }],
    fault: (fetch) => async (request) => {
      const text = await (await fetch(request)).text()
      const late = text.replace(/"expectedAvailableAt":"2026-02-02/g, '"expectedAvailableAt":"2026-02-03')
      return new Response(late, { headers: { 'Content-Type': 'application/json' } })
    },
  },
  {
    name: 'settles twice',
    history: [...deposit, bank('settlement')],
    fault: doubling(/\/settle$/),
  },
  {
    name: 'keeps what a bank refused to take',
    history: [...withdrawal, bank('failure')],
    fault: instead('POST', /\/fail$/, (request, fetch) =>
      changed(
        fetch(readdressed(request, /fail$/, 'settle')),
        [/"COMPLETED"/, '"FAILED"'],
        [/"failure":null/, '"failure":{"code":"R03","reason":"No account"}'],
      ),
    ),
  },
  {
    name: 'keeps what a bank takes back',
    history: [...deposit, bank('settlement'), bank('return')],
    fault: onlySaid(
      /\/transfers\/[^/]+\/return$/,
      [/"COMPLETED"/, '"RETURNED"'],
      [/"return":null/, '"return":{"code":"R10","reason":"Customer advises not authorized","returnedAt":null}'],
    ),
  },
  {
    name: 'does again what is repeated after a lost answer',
    history: Array.from({ length: 20 }, (_, at) => payment('own', 'customer', 1, `payment-${at + 1}`)),
    fault: (fetch) => {
      let count = 0
      return (request) => {
        const again = new Request(request)
        const key = request.headers.get('Idempotency-Key')
        // The key that the MCP server made up for one call; the agents' own stay what they are.
        if (key?.startsWith('idk_')) again.headers.set('Idempotency-Key', `${key} ${count++}`)
        return fetch(again)
      }
    },
  },
]

/** What one agent does, in this order. */
function run(steps: readonly Step[], fault?: Fault, database = databasesForLong[0]) {
  const history = steps.map((step, at): Action => ({ step: at + 1, agent: 1, party: 'own', ...step }))
  const options = { target: inProcess(fault, database), system: fakeSystem(), concurrency: 1, faults: 'lost 46' }
  return runHistory(() => history, [1], options)
}

describe.each(databasesForLong)('on $name, the model', (database) => {
  it.each(sampleOf(broken, 3))('notices a service that $name', async ({ history, fault }) => {
    expect((await run(history, undefined, database)).mismatch).toBeUndefined()
    expect((await run(history, fault, database)).mismatch).toBeDefined()
  })
})
