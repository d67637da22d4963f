import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { sha256 } from '../../src/core/system.ts'
import { type Level, type LevelsByAnswer, pageNeeds } from '../../src/service/rules/page-needs.ts'
import { catalogue } from '../../tools/index.ts'
import { onEachDatabase } from '../support/databases.ts'
import { doorGrounds, type Grounds, replaceSecret } from './doors.ts'
import { noTraces, tracesOf } from './traces.ts'

/** A request that should be refused. */
type Attempt = [path: string, init?: RequestInit]

/**
 * The protection of a route, with requests that the route must refuse. A `public` route has no private data; the string
 * describes what it serves. A `guessed` route needs a secret; its requests contain a wrong or insufficient secret. A
 * `signedIn` route needs the session of the right user; its requests lack that session.
 */
type Protection =
  | { public: string }
  | { guessed: (on: Grounds) => Attempt[] }
  | { signedIn: (on: Grounds) => Attempt[] }

const sameOriginHeaders = { Origin: 'http://127.0.0.1:4010', 'Sec-Fetch-Site': 'same-origin' }
const form = (fields: Record<string, string>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields),
  headers: sameOriginHeaders,
})
const json = (attributes: object): RequestInit => ({
  method: 'POST',
  headers: { ...sameOriginHeaders, 'Content-Type': 'application/json' },
  body: JSON.stringify({ data: { attributes } }),
})
const openWithWrongSecret =
  (link: keyof Grounds['links']) =>
  (on: Grounds): Attempt[] => [[replaceSecret(on.links[link])]]
const sendWithWrongSecret =
  (link: keyof Grounds['links'], fields: Record<string, string>) =>
  (on: Grounds): Attempt[] => [[replaceSecret(on.links[link]), form(fields)]]
const card = { number: '4242424242424242', expiry: '12/34', cvv: '123' }
const shopCard = { number: card.number, cvv: card.cvv, expirationMonth: '1', expirationYear: '2026' }
const oauth = (path: string, fields: Record<string, string>) => (): Attempt[] => [[path, form(fields)]]

/** The protection of each route that is not an operation. A test fails if such a route has no entry here. */
const protections: Record<string, Protection> = {
  'GET /healthz': { public: 'whether the service works' },
  'GET /readyz': { public: 'whether requests should be sent here' },
  'GET /openapi.json': { public: 'the OpenAPI document' },
  'GET /': { public: 'a description of the service, and how a host connects to it' },
  'GET /mcp/server-card': { public: 'how a host connects to the service' },
  'OPTIONS /mcp/server-card': { public: 'says what other sites may send' },
  'GET /.well-known/ai-catalog.json': { public: 'a catalog of this site' },
  'GET /llms.txt': { public: 'an overview of this site' },
  'GET /docs': { public: 'the API reference' },
  'GET /docs/:operationId': { public: 'the reference of one operation' },
  'GET /styles/bar.css': { public: 'an asset' },
  'GET /scripts/copy.js': { public: 'an asset' },
  'GET /styles/pages.css': { public: 'an asset' },
  'GET /styles/base.css': { public: 'an asset' },
  'GET /favicon.svg': { public: 'the icon' },
  'GET /favicon.ico': { public: 'the icon' },
  'GET /styles/checkout.css': { public: 'an asset' },
  'GET /styles/parts.css': { public: 'an asset' },
  'GET /checkout/page.js': { public: 'an asset' },
  'GET /checkout/form.js': { public: 'an asset' },
  'GET /checkout/requests.js': { public: 'an asset' },
  'GET /checkout/library.js': { public: 'an asset' },
  'GET /checkout/form': { public: 'an empty card form' },
  'POST /checkout/session': {
    guessed: ({ clientSecret }) => [['/checkout/session', json({ clientSecret: replaceSecret(clientSecret) })]],
  },
  'POST /checkout/pay': {
    guessed: ({ clientSecret }) => [
      ['/checkout/pay', json({ clientSecret: replaceSecret(clientSecret), payerKey: 'k'.repeat(43), ...card })],
    ],
  },
  'POST /checkout/stop': {
    guessed: ({ clientSecret, links }) => [
      ['/checkout/stop', json({ manageToken: replaceSecret(links.manage).split('/').at(-1) })],
      // The client secret of a checkout is not enough to stop the subscription.
      ['/checkout/stop', json({ clientSecret })],
    ],
  },
  'GET /checkout/manage/:manageToken': { guessed: openWithWrongSecret('manage') },
  'GET /checkout/:subscriptionId/:pageToken': { guessed: openWithWrongSecret('checkout') },
  'GET /checkout/:subscriptionId': { guessed: ({ links }) => [[links.checkout.split('/').slice(0, 3).join('/')]] },
  'GET /connect/:token': { guessed: openWithWrongSecret('invitation') },
  'POST /connect/:token': { guessed: sendWithWrongSecret('invitation', { answer: 'accept' }) },
  'GET /connect/links/:token': { guessed: openWithWrongSecret('invitationLink') },
  'POST /connect/links/:token': { guessed: sendWithWrongSecret('invitationLink', { name: 'Mallory' }) },
  'GET /claim/:token': { guessed: openWithWrongSecret('claim') },
  'POST /claim/:token': { guessed: sendWithWrongSecret('claim', { decision: 'claim' }) },
  'GET /request/:token': { guessed: openWithWrongSecret('paymentRequest') },
  'POST /request/:token': {
    guessed: (on) => [
      ...sendWithWrongSecret('paymentRequest', { decision: 'card', ...card })(on),
      ...sendWithWrongSecret('paymentRequest', { decision: 'decline' })(on),
      // The right link is not enough: these forms lack a form token, or contain a made-up token.
      [on.links.paymentRequest, form({ decision: 'wallet', walletId: 'wal_1' })],
      [on.links.paymentRequest, form({ decision: 'card', ...card, formToken: `1.${'0'.repeat(64)}` })],
      [on.links.paymentRequest, form({ decision: 'decline' })],
    ],
  },
  'GET /join/:token': { guessed: openWithWrongSecret('partyInvitation') },
  'POST /join/:token': {
    guessed: (on) => [
      ...sendWithWrongSecret('partyInvitation', { decision: 'accept', name: 'Mallory', password: 'mallory mallory' })(
        on,
      ),
      [on.links.partyInvitation, form({ decision: 'accept', name: 'Mallory', password: 'mallory mallory' })],
      [on.links.partyInvitation, form({ decision: 'decline', formToken: `1.${'0'.repeat(64)}` })],
    ],
  },
  'GET /verify/:challenge': { signedIn: ({ links }) => [[links.challenge], [replaceSecret(links.challenge)]] },
  'POST /verify/:challenge': { signedIn: ({ links }) => [[links.challenge, form({ code: '000000' })]] },
  'GET /second-factor': { signedIn: () => [['/second-factor']] },
  'POST /second-factor': { signedIn: () => [['/second-factor', form({ code: '000000' })]] },
  'GET /cards/:token': { signedIn: ({ links }) => [[links.card], [replaceSecret(links.card)]] },
  'POST /cards/:token': {
    signedIn: ({ links }) => [
      [links.card, form({})],
      [replaceSecret(links.card), form({})],
    ],
  },
  'GET /approvals/:approvalId/review': { signedIn: ({ paths }) => [[paths.approval]] },
  'POST /approvals/:approvalId/review': { signedIn: ({ paths }) => [[paths.approval, form({ decision: 'approve' })]] },
  'GET /styles/console.css': { public: 'an asset' },
  'GET /scripts/console.js': { public: 'an asset' },
  'GET /scripts/redraw.js': { public: 'an asset' },
  'GET /console': { signedIn: () => [['/console']] },
  'GET /console/find': { signedIn: () => [['/console/find?id=run-1']] },
  'GET /console/requests/:id': { signedIn: () => [['/console/requests/req_1']] },
  'GET /console/records/:recordId': { signedIn: () => [['/console/records/pcd_1']] },
  'GET /console/search': { signedIn: () => [['/console/search?text=merchant']] },
  'GET /console/runs/:runId': { signedIn: () => [['/console/runs/run_1']] },
  'GET /console/runs/:runId/entries/:entryId': { signedIn: () => [['/console/runs/run_1/entries/ent_1']] },
  'GET /console/runs/:runId/report': { signedIn: () => [['/console/runs/run_1/report']] },
  'GET /console/money': { signedIn: () => [['/console/money']] },
  'GET /console/money/wallets/:walletId': { signedIn: () => [['/console/money/wallets/wal_1']] },
  'GET /console/sandbox': { signedIn: () => [['/console/sandbox']] },
  'POST /console/sandbox/:action': { signedIn: () => [['/console/sandbox/reset', form({ formToken: 'x' })]] },
  'GET /console/*': { signedIn: () => [['/console/nothing']] },
  'GET /console/stream': { signedIn: () => [[`/console/stream?topic=run:run_${'0'.repeat(32)}`]] },
  'GET /decisions': { signedIn: () => [['/decisions']] },
  'GET /decide/:decisionId': { signedIn: ({ paths }) => [[paths.decision], [replaceSecret(paths.decision)]] },
  'POST /decide/:decisionId': { signedIn: ({ paths }) => [[paths.decision, form({ decision: 'yes' })]] },
  'GET /shops': { public: 'what anybody can buy' },
  'GET /shops/:shopId': { public: 'what anybody can buy' },
  // The service refuses this form: several parties of the sandbox have agents, so it is unknown which party is buying.
  'POST /shops/:shopId': {
    guessed: () => [['/shops/plain-goods', form({ key: `idk_${'0'.repeat(32)}`, 'quantity.desk-lamp': '1' })]],
  },
  'GET /shops/checkouts/:token': { guessed: openWithWrongSecret('shopCheckout') },
  'POST /shops/checkouts/:token': {
    guessed: sendWithWrongSecret('shopCheckout', {
      ...shopCard,
      action: 'pay',
      amount: '1',
      key: `idk_${'0'.repeat(32)}`,
    }),
  },
  'GET /shops/orders/:token': { guessed: openWithWrongSecret('shopOrder') },
  'POST /shops/orders/:token': { guessed: sendWithWrongSecret('shopOrder', { key: `idk_${'0'.repeat(32)}` }) },
  'GET /connections': { signedIn: () => [['/connections']] },
  'POST /connections/:grantId': { signedIn: ({ paths }) => [[paths.connection, form({ action: 'disconnect' })]] },
  'GET /connections/new/application': { signedIn: () => [['/connections/new/application']] },
  'POST /connections/new/application': {
    signedIn: () => [['/connections/new/application', form({ name: 'Worker', scope: 'payments:read' })]],
  },
  'GET /connections/new/identity-provider': { signedIn: () => [['/connections/new/identity-provider']] },
  'POST /connections/new/identity-provider': {
    signedIn: () => [['/connections/new/identity-provider', form({ name: 'Chat', scope: 'payments:read' })]],
  },
  'GET /sign-in': { public: 'the sign-in form' },
  'GET /sign-in/once/:code': { guessed: () => [['/sign-in/once/AAAAAAAAAAAAAAAAAAAAAA?next=/console']] },
  'POST /sign-in/once/:code': { guessed: () => [['/sign-in/once/AAAAAAAAAAAAAAAAAAAAAA', form({ next: '/console' })]] },
  'POST /sign-in': {
    guessed: ({ site: { owner } }) => [['/sign-in', form({ email: owner.email, password: 'made up, and wrong' })]],
  },
  'POST /sign-out': { public: "ends the caller's own session" },
  'OPTIONS /.well-known/*': { public: 'says what other sites may send' },
  'OPTIONS /oauth/*': { public: 'says what other sites may send' },
  'GET /.well-known/oauth-authorization-server': { public: 'metadata' },
  'GET /.well-known/openid-configuration': { public: 'metadata' },
  'GET /.well-known/oauth-protected-resource/*': { public: 'metadata' },
  'GET /.well-known/oauth-protected-resource': { public: 'metadata' },
  'GET /oauth/jwks': { public: 'public keys' },
  'GET /oauth/authorize': { guessed: () => [['/oauth/authorize?client_id=nobody&response_type=code']] },
  'GET /oauth/authorize/:uid': { guessed: () => [['/oauth/authorize/made-up']] },
  'POST /oauth/token': {
    guessed: oauth('/oauth/token', { grant_type: 'refresh_token', client_id: 'nobody', refresh_token: 'made-up' }),
  },
  'POST /oauth/register': { guessed: () => [['/oauth/register', json({})]] },
  'POST /oauth/introspect': { guessed: oauth('/oauth/introspect', { token: 'made-up' }) },
  'POST /oauth/revoke': { guessed: oauth('/oauth/revoke', { token: 'made-up', client_id: 'nobody' }) },
  'POST /oauth/device/authorize': { guessed: oauth('/oauth/device/authorize', { client_id: 'nobody' }) },
  'GET /oauth/device': { public: 'a form for a device code' },
  'POST /oauth/device': { guessed: oauth('/oauth/device', { user_code: 'AAAA-AAAA' }) },
  'GET /oauth/device/:uid': { guessed: () => [['/oauth/device/made-up']] },
  'GET /oauth/consent/:uid': { guessed: () => [['/oauth/consent/made-up']] },
  'POST /oauth/consent/:uid': { guessed: () => [['/oauth/consent/made-up', form({ decision: 'allow' })]] },
}

const operations = new Set(
  Object.values<OperationDefinition>(catalogue).map(
    ({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
  ),
)

onEachDatabase('routes requested without access', (database) => {
  let on: Grounds
  beforeAll(async () => {
    on = await doorGrounds(database)
  })
  afterAll(() => on.site.world.drop())

  test('every route that is not an operation has an entry in this file', () => {
    // A route with the method ALL is middleware, not a page.
    const served = on.site.world.service.routes.filter(({ method }) => method !== 'ALL')
    const routes = served.map(({ method, path }) => `${method} ${path}`)
    const pages = new Set(routes.filter((route) => !operations.has(route)))
    expect([...pages].sort()).toEqual(Object.keys(protections).sort())
  })

  test('pageNeeds lists every route for people except public reads, and requires a session for every page of a user', () => {
    // Applications, not people, send requests to these routes.
    const applicationRoutes = /^\w+ \/oauth\/(?!consent\/)/
    const absent = Object.entries(protections).filter(
      ([route]) => !Object.hasOwn(pageNeeds, route) && !applicationRoutes.test(route),
    )
    const wrong = absent.filter(([route, protection]) => !/^(?:GET|OPTIONS) /.test(route) || !('public' in protection))
    expect(wrong).toEqual([])
    const rows = Object.entries<Level | LevelsByAnswer>(pageNeeds)
    const levelsOf = (need: Level | LevelsByAnswer) =>
      typeof need === 'string' ? [need] : [...Object.values(need.answers), need.otherwise]
    for (const [route, need] of rows) {
      const protection = protections[route]
      expect(protection, route).toBeDefined()
      if (protection === undefined || 'public' in protection || route.includes('/oauth/')) continue
      const needsSession = levelsOf(need).every((level) => level === 'session' || level === 'proven')
      expect([route, needsSession]).toEqual([route, 'signedIn' in protection])
    }
  })

  test.each(Object.entries(protections))('%s reveals nothing without access', async (route, protection) => {
    const { world, sessionOf } = on.site
    const attempts: Attempt[] =
      'public' in protection
        ? [[route.split(' ')[1]?.replace(/[*:]\w*$/, 'mcp') ?? '', { method: route.split(' ')[0] ?? '' }]]
        : 'guessed' in protection
          ? protection.guessed(on)
          : protection.signedIn(on)
    const endedSession = await sessionOf(on.site.owner)
    const removed = await on.site.addUser({ partyId: on.site.owner.partyId, role: 'OWNER' })
    const removedSession = await sessionOf(removed)
    await world.store.transaction(async ({ db }) => {
      const idHash = sha256(endedSession)
      await db.updateTable('signInSessions').set({ expiresAtMs: 0 }).where('idHash', '=', idHash).execute()
      await db.updateTable('users').set({ status: 'REVOKED' }).where('id', '=', removed.id).execute()
    })
    const browsers: Record<string, string> = {
      "the owner's browser after its session expired": `payments_session=${endedSession}`,
      'the browser of a removed user': `payments_session=${removedSession}`,
      'a browser with a made-up session': `payments_session=${'A'.repeat(43)}`,
      'a browser without a session': '',
      'the browser of another user': `payments_session=${await sessionOf(on.stranger)}`,
      // For routes that need a session, proof.test.ts tests the one-click sign-in.
      ...('guessed' in protection ? { 'the owner after a one-click sign-in': await signInByOneClick(on) } : {}),
    }
    const wrong: string[] = []
    const traces = await tracesOf(world, undefined, async () => {
      for (const [browser, Cookie] of Object.entries(browsers)) {
        for (const [path, init = {}] of attempts) {
          const headers = { ...init.headers, ...(Cookie === '' ? {} : { Cookie }) }
          const answer = await world.service.fetch(
            new Request(`http://127.0.0.1:4010${path}`, { ...init, headers, redirect: 'manual' }),
          )
          const text = await answer.text()
          const where = `${browser}: ${answer.status} ${answer.headers.get('location') ?? ''}`
          // A page may show the visitor's own input, so private words that the request itself contains do not count.
          const shown = on.private.filter(
            (word) => text.includes(word) && !String(init.body).includes(encodeURIComponent(word)),
          )
          if (shown.length > 0) wrong.push(`${where} shows ${shown.join(', ')}`)
          const leadsToSignIn = answer.status === 303 && /^\/sign-in\?/.test(answer.headers.get('location') ?? '')
          if ('public' in protection || answer.status >= 400 || leadsToSignIn || isHarmless(route, text)) continue
          wrong.push(`${where} ${text.slice(0, 300)}`)
        }
      }
    })
    expect(wrong).toEqual([])
    expect({ ...traces, added: traces.added.filter((row) => !isLimitedRow(row)) }).toEqual(noTraces)
  })
})

/** Signs the owner in by one click, as any program on the sandbox's machine can. Returns the session's cookie. */
async function signInByOneClick({ site: { world } }: Grounds): Promise<string> {
  const answer = await world.service.fetch(new Request('http://127.0.0.1:4010/sign-in', form({ as: 'owner' })))
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/**
 * Returns whether strangers may add this row. They may add counts of wrong passwords, and sessions for the form that
 * takes a device code (src/service/oauth/clients.ts): the service limits the number of both.
 */
const isLimitedRow = (row: string) =>
  row.startsWith('refusedPasswords: ') ||
  (row.startsWith('oauthRecords: {"model":"Session"') && !row.includes('accountId'))

/** Pages whose address is the same for every user. Each of them shows or searches only the user's own records. */
const ownPages: ReadonlySet<string> = new Set([
  'GET /connections',
  'GET /connections/new/application',
  'GET /connections/new/identity-provider',
  'GET /decisions',
  'GET /second-factor',
  'GET /console',
  'GET /console/find',
  'GET /console/search',
  'GET /console/money',
  'GET /console/sandbox',
])

/**
 * Returns whether a successful answer from this route reveals nothing about other people's records. RFC 7009
 * (revocation) and RFC 7662 (introspection) require a successful answer even for an unknown token.
 */
function isHarmless(route: string, text: string): boolean {
  if (route === 'POST /oauth/revoke') return text === ''
  if (route === 'POST /oauth/introspect') return text === '{"active":false}'
  return ownPages.has(route)
}
