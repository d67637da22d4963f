import fc from 'fast-check'
import type { HtmlEscapedString } from 'hono/utils/html'
import { describe, expect, test } from 'vitest'
import { foreignName } from '../../src/core/foreign-text.ts'
import { quoted, quotedWhole } from '../../src/mcp/answers/quoted-text.ts'
import type { SignedIn } from '../../src/service/oauth/sign-in.ts'
import type { ApprovalReview, Payee } from '../../src/service/operations/steps/review-approval.ts'
import { approvalPage } from '../../src/service/pages/approval/view.ts'
import { cardDetailsPage, cardPage } from '../../src/service/pages/card/view.ts'
import { cardWords } from '../../src/service/pages/card/words.ts'
import { checkoutPage } from '../../src/service/pages/checkout/view.ts'
import { checkoutWords } from '../../src/service/pages/checkout/words.ts'
import { claimPage } from '../../src/service/pages/connect/claim-view.ts'
import { linkPage } from '../../src/service/pages/connect/link-view.ts'
import { connectPage } from '../../src/service/pages/connect/view.ts'
import { connectWords } from '../../src/service/pages/connect/words.ts'
import { connectionsPage } from '../../src/service/pages/connections/view.ts'
import { connectionWords } from '../../src/service/pages/connections/words.ts'
import { devicePages } from '../../src/service/pages/consent/device-view.ts'
import { consentPage } from '../../src/service/pages/consent/view.ts'
import { consentWords } from '../../src/service/pages/consent/words.ts'
import { afterDecision, decisionForm, decisionPage } from '../../src/service/pages/decide/view.ts'
import { contextFactsOf } from '../../src/service/pages/decide/words.ts'
import { accountOf, notYoursPage } from '../../src/service/pages/frame/account.ts'
import { approvalWords } from '../../src/service/pages/frame/approval-words.ts'
import { decisionWords } from '../../src/service/pages/frame/decision-words.ts'
import type { Html } from '../../src/service/pages/frame/document.ts'
import { joinPage } from '../../src/service/pages/join/view.ts'
import { registeredPage } from '../../src/service/pages/register/registered.ts'
import { applicationPage } from '../../src/service/pages/register/view.ts'
import { requestPage } from '../../src/service/pages/request/view.ts'
import { requestWords } from '../../src/service/pages/request/words.ts'
import { checkoutPage as shopCheckoutPage } from '../../src/service/pages/shops/checkout-view.ts'
import { orderPage } from '../../src/service/pages/shops/order-view.ts'
import { goodsPage, shopsPage } from '../../src/service/pages/shops/shop-view.ts'
import { checkoutWords as cartWords, orderWords, shopWords } from '../../src/service/pages/shops/words.ts'
import { tries } from '../support/depth.ts'

const form = { action: '/here', token: 'token' }
const atMs = Date.UTC(2026, 0, 15)
const claim = { amountCents: 1, status: 'PENDING_CLAIM', answerer: 'anybody', formToken: 'token' } as const
/** A visitor who opens a link while signed in as a user with the given name. */
const visitor = (text: string, personToken: string | null = null) => ({
  form: { ...form, personToken, mayAgree: true },
  account: accountOf(user(text)),
  path: '/here',
})
const spending = { limits: {}, accountLimits: {}, availableCents: null } as never
const user = (text: string) => ({ user: { name: text, email: text }, formToken: () => 'token' }) as unknown as SignedIn

/** Pages that show text from other people. Each function renders a page and uses the given text for all such text. */
const pages: Record<string, (text: string) => Html | string> = {
  approval: (text) => approval(text, { kind: 'agent', name: text, owner: text }),
  'payment to a claimant': (text) => approval(text, { kind: 'claimant', name: text }),
  'decision on a call': (text) => {
    const call = {
      tool: '',
      arguments: {},
      fingerprint: '',
      facts: [`Pay ${quoted(text)}`],
      effect: '',
      approveLabel: 'Yes',
      host: text,
    }
    const asker = { agent: text, application: { id: 'ocl_1', name: text }, key: text }
    const review = { id: 'dcn_1', call: { ...call, spends: true }, state: 'pending', endsAtMs: atMs } as const
    const contextFacts = contextFactsOf({ ...review, asker, payee: text, caps: [] })
    const words = decisionWords(review)
    const after = afterDecision(accountOf(user(text)), form.action)
    return decisionPage({ words, contextFacts, form: decisionForm(words, form), after, problem: null })
  },
  card: (text) => cardPage(cardWords(card(text)), form),
  'card details': (text) =>
    cardDetailsPage(cardWords(card(text)), { number: ['4242'], expires: '01 / 2030', cvv: '123' }),
  checkout: (text) => checkoutPage(checkoutWords(checkout(text), atMs), { clientSecret: 'secret' }),
  'payment request': (text) => paymentRequest(text, 'OPEN'),
  'paid payment request': (text) => paymentRequest(text, 'COMPLETED'),
  'party invitation': (text) => partyInvitation(text, 'PENDING', text),
  'accepted party invitation': (text) => partyInvitation(text, 'ACCEPTED', null),
  claim: (text) => claimPage({ ...claim, sender: text, claimant: text, description: text }, visitor(text)),
  invitation: (text) => connectPage(connectWords(invitation(text, 'PENDING')), visitor(text, 'token')),
  'accepted invitation': (text) => connectPage(connectWords(invitation(text, 'ACCEPTED')), visitor(text)),
  'invitation link': (text) => linkPage(link(text, 'open'), '/here'),
  'joined invitation link': (text) => linkPage(link(text, 'joined'), '/here'),
  connections: (text) => {
    const connection = {
      grantId: 'g',
      clientId: 'ocl_1',
      clientName: text,
      agentName: text,
      spending,
      permissions: [] as const,
      signsInItself: false,
      identityProvider: null,
    }
    const words = connectionWords({ ...connection, createdAtMs: atMs, lastUsedAtMs: null })
    const connections = [{ ...words, formToken: 'token' }]
    return connectionsPage({ connections, mayRegister: true, status: null })
  },
  'application form': (text) => {
    const agents = [{ id: 'agt_1', name: foreignName(text, 'agt_1', 100) }]
    const entry = { name: 'Worker', agentId: '', scopes: [], proof: 'secret', keys: '' } as const
    return applicationPage({ agents, entry, problems: {}, action: '/here', token: 'token' })
  },
  'registered application': (text) => {
    const app = { name: text, clientId: 'oap_1', clientSecret: null }
    return registeredPage({ ...app, agentName: foreignName(text, 'agt_1', 100), baseUrl: 'http://127.0.0.1:4010' })
  },
  consent: (text) => {
    const client = { id: 'ocl_1', name: text, uri: null, redirectUri: 'https://app.example/' }
    const agent = { id: 'agt_1', name: text, description: text, lastActiveAtMs: null, spending }
    const choice = { currentAgentId: null, mayCreate: true, actsAsUser: false, newAgentSpending: spending }
    return consentPage({
      words: consentWords({ uid: 'uid', client, scopes: [] }, { permissions: [], agents: [agent], ...choice }),
      ...{ action: '/here', formToken: 'token', account: accountOf(user(text)), problem: null },
      mayAgree: true,
      entry: { agent: '', name: '', description: '' },
    })
  },
  'device code': (text) => devicePages.confirmCode(form, { name: text }, 'ABCD-EFGH'),
  'device connected': (text) => devicePages.done({ name: text }),
  'device error': (text) => devicePages.failed({ code: 'invalid_request', description: text }),
  shops: (text) => shopsPage([shop(text)]),
  shop: (text) => goodsPage(shop(text), { ...shopForm, quantities: new Map(), wrong: [] }, null),
  'shop without a form': (text) => goodsPage(shop(text), null, null),
  'shop checkout': (text) => {
    const declined = { code: 'no_card', detail: text } as const
    const forms = { action: '/here', payKey: 'key', cartKey: 'key' }
    return shopCheckoutPage(cartWords({ ...cart(text), decline: declined }), forms, { problem: null, fields: {} })
  },
  'shop order': (text) => {
    const shown = { orderId: 'sor_1', form: shopForm, nextCheckout: null, problem: null }
    return orderPage(orderWords(order(text)), shown)
  },
  'wrong user': (text) => notYoursPage('There is nothing for you here.', user(text), '/here'),
}

function approval(text: string, payee: Payee): Html {
  const review: ApprovalReview = {
    ...{
      id: 'apr_1',
      status: 'denied',
      amountCents: 1,
      description: text,
      denialReason: text,
      reasons: [],
      check: null,
    },
    ...{ payee, initiator: { kind: 'agent', agent: text, owner: text }, createdAtMs: atMs, resolvedAtMs: atMs },
  }
  const person = { ...form, user: accountOf(user(text)).user, reason: '' }
  return approvalPage(approvalWords(review), {
    form: person,
    mayAgree: true,
    problem: null,
    wrongReason: false,
  })
}

function paymentRequest(text: string, status: 'OPEN' | 'COMPLETED'): Html {
  const viewer = {
    relation: 'payer' as const,
    wallets: [{ id: 'wal_1', name: text, availableCents: 1 }],
    approvalId: null,
  }
  const incomingRequest = {
    ...{ id: 'prq_1', status, requester: text, payer: text, amountCents: 1, description: text, expiresAtMs: atMs },
    ...{ answerer: 'own user' as const, isNewPayer: true, takesCards: true, lastDecline: null, inReview: false },
    ...{ formToken: 'token', viewer },
  }
  const forms = { ...form, personToken: 'token', mayAgree: true, account: accountOf(user(text)) }
  const refused = { problem: null, fields: {} }
  return requestPage(incomingRequest, requestWords(incomingRequest), { forms, refused, sandbox: true })
}

function partyInvitation(text: string, status: 'PENDING' | 'ACCEPTED', signedInAs: string | null): Html {
  const invited = { status, party: text, role: 'ADMIN', email: text, isTaken: false } as const
  const invitation = { ...invited, mayDecline: true, formToken: 'token' }
  const filled = { name: '', problem: null, invalid: null }
  const shown = signedInAs === null ? null : foreignName(signedInAs, 'a user without a name')
  return joinPage(invitation, { form, filled, signedInAs: shown })
}

const card = (text: string) => ({
  state: 'ready' as const,
  expiresAtMs: atMs,
  card: {
    id: 'crd_1',
    status: 'active',
    merchant: text,
    maximumAmountCents: 1,
    expiresAtMs: atMs,
    agent: text,
  } as const,
})

const checkout = (text: string) => ({
  ...({
    status: 'active',
    merchant: text,
    amount: 2000,
    taxAmount: 0,
    currency: 'USD',
    expiresAt: '2026-01-16T12:00:00.000Z',
  } as const),
  terms: {
    description: text,
    every: { unit: 'month', count: 1 },
    amount: 2000,
    taxAmount: 0,
    paymentCount: null,
  } as never,
  nextDueAt: null,
})

const invitation = (text: string, status: 'PENDING' | 'ACCEPTED') => ({
  ...{ status, cancelReason: null, developer: text, agent: text, invited: text, message: text, permissions: [text] },
  ...{ answerer: 'anybody' as const, perTransactionCents: null, expiresAtMs: atMs, formToken: 'token' },
})

const link = (text: string, state: 'open' | 'joined') => ({
  ...{ state, developer: text, expiresAtMs: atMs, formToken: 'token' },
  agents: [{ agent: text, permissions: ['cards.read'], perTransactionCents: null }],
})

const shopForm = { action: '/here', key: 'key' }

const shop = (text: string) => {
  const product = { productId: 'one', name: text, description: text, price: 1 }
  const attributes = { name: text, about: text, url: '', currency: 'USD', products: [product] } as const
  return shopWords('a-shop', { ...attributes, products: [product] }, new Map([['one', text]]))
}

const item = (text: string) => ({ productId: 'one', name: text, quantity: 1, price: 1 })
const common = { agentId: null, instanceId: null, createdAt: '', updatedAt: '' }
const atShop = (text: string) => ({ ...common, shopId: 'a-shop', merchant: { name: text }, currency: 'USD' }) as const

const cart = (text: string) => ({
  ...atShop(text),
  ...{ status: 'open' as const, items: [item(text)], subtotal: 1, tax: 0, shipping: 0, otherOrder: 0, total: 1 },
  extras: [{ extraId: 'more', name: text, price: 0, selected: true }],
  ...{ terms: text, message: text, decline: null, orderId: null, url: '', expiresAt: '2026-01-16T12:00:00.000Z' },
})

const order = (text: string) => ({
  ...atShop(text),
  ...{ status: 'shipped' as const, items: [{ ...item(text), shipped: 1 }], total: 1, captured: 1, refunded: 0 },
  subscription: { description: text, amount: 1, status: 'trial' as const, nextChargeAt: null },
  ...{ receipt: text, message: text, nextCheckoutId: null, nextTotal: null, nextEventAt: null },
})

const nasty = [
  '\u3164',
  '\u2800',
  '\u200b',
  '\u202e',
  '\u2066',
  '\u2069',
  '\u0301',
  '\u{e0041}',
  '\0',
  '\ud800',
  '\n',
  ' ',
]
const foreign = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc
    .array(fc.constantFrom(...nasty, 'a', '<b>', '&', '”', '日', '👩\u200d💻'), { maxLength: 60 })
    .map((parts) => parts.join('')),
)

/** Returns the text that a browser would show, without the page's own characters that isolate text direction. */
function textOf(document: string): string {
  const text = document.replace(/<[^>]*>/g, '').replace(/&(\w+|#\d+);/g, '?')
  return text.replace(/\u2068([^\u2068\u2069]*)\u2069/g, '$1')
}

const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/u

function expectAllVisible(text: string): void {
  expect(text.match(hidden)).toBeNull()
  expect(text.match(/\p{M}{4}/u)).toBeNull()
}

describe.each(Object.entries(pages))('the page “%s”', (_, page) => {
  test('foreign text on the page has no invisible characters, no HTML and no empty names', () => {
    const property = fc.property(foreign, (text) => {
      const document = String(page(text) as HtmlEscapedString)
      expectAllVisible(textOf(document))
      expect(document).not.toMatch(/<(bdi|h1|h2|li|dd)>[\s\ufffd\p{M}]*<\/\1>/u)
      expect(document).not.toContain('<b>')
    })
    fc.assert(property, { numRuns: tries(250) })
  })
})

/** Pages that show an application's error text, but no names. */
const nameless = ['device error']
/** A name in Latin letters, except for the "а" and both "о", which are Cyrillic. */
const homograph = 'Pl\u0430in G\u043e\u043eds'
const hint = 'has letters of several alphabets'

test.each(Object.entries(pages).filter(([name]) => !nameless.includes(name)))(
  'the page “%s” warns about a name with letters of several alphabets, and about no other name',
  (_, page) => {
    expect(textOf(String(page(homograph)))).toContain(`${homograph} (${hint})`)
    for (const name of ['Plain Goods', '東京カフェ Tokyo', 'Café №7 – Zürich'])
      expect(String(page(name))).not.toContain(hint)
  },
)

test('a quoted name is followed by a warning if it has letters of several alphabets', () => {
  for (const shown of [quoted(homograph), quotedWhole(homograph)]) expect(shown).toBe(`“${homograph}” (${hint})`)
  expect(quoted('Plain Goods')).toBe('“Plain Goods”')
})

test('quoted foreign text is visible, and cannot close its quotation marks', () => {
  const property = fc.property(foreign, (text) => {
    for (const shown of [quoted(text), quotedWhole(text)]) {
      expectAllVisible(shown)
      expect(shown).toMatch(/^“[^“”"]+”(?: \(has letters of several alphabets\))?$/u)
    }
  })
  fc.assert(property, { numRuns: tries(1000) })
})
