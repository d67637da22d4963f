import { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sha256 } from '../../src/core/system.ts'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import type { Level, LevelsByAnswer, PageRoute, pageNeeds } from '../../src/service/rules/page-needs.ts'
import { insertSession } from '../../src/service/store/browser-sessions.ts'
import { trust } from '../credentials/requests.ts'
import { authorizationUrl, createApplication } from '../oauth/application.ts'
import { createVisitor, type Visitor } from '../pages/oauth-site.ts'
import { onEachDatabase, type TestDatabase } from '../support/databases.ts'
import { addParty } from '../support/world.ts'
import { doorGrounds, type Grounds } from './doors.ts'
import { noTraces, tracesOf } from './traces.ts'

type LevelsOf<Need> = Need extends LevelsByAnswer ? Need['answers'][keyof Need['answers']] | Need['otherwise'] : Need
type RoutesAt<Wanted extends Level> = {
  [Route in PageRoute]: Wanted extends LevelsOf<(typeof pageNeeds)[Route]> ? Route : never
}[PageRoute]

/** A request to a page. `perform` adds the form token of the visitor's session. */
interface PageRequest {
  path: string
  /** The fields of the form to send. If undefined, the page is opened and no form is sent. */
  fields?: Record<string, string>
  /** The purpose that the form token is created for. */
  purpose?: string
  /** The name of the field that contains the form token; by default `formToken`. */
  tokenField?: string
}

type Prepare = (on: Fixture, visitor: Visitor) => PageRequest | Promise<PageRequest>

interface Fixture {
  grounds: Grounds
  /** A payment request to the owner's party, the form token of the request's page, and a wallet that can pay. */
  paymentRequest: { id: string; path: string; formToken: string; walletId: string }
}

/** A request for each route that needs proof of identity. The file does not compile if an entry is missing. */
const requestsThatNeedProof: Record<RoutesAt<'proven'>, Prepare> = {
  'GET /second-factor': () => ({ path: '/second-factor' }),
  'POST /second-factor': () => ({ path: '/second-factor', fields: { step: 'begin' }, purpose: '/second-factor' }),
  'GET /cards/:token': ({ grounds }) => ({ path: grounds.links.card }),
  'POST /cards/:token': ({ grounds: { links } }) => {
    return { path: links.card, fields: {}, purpose: `card page ${links.card.split('/').at(-1)}` }
  },
  'GET /connections/new/application': () => ({ path: '/connections/new/application' }),
  'POST /connections/new/application': async ({ grounds: { site } }) => ({
    path: '/connections/new/application',
    fields: { name: 'Worker', agentId: String((await site.world.whoami()).agentId), scope: 'payments:read' },
    purpose: '/connections/new/application',
  }),
  'GET /connections/new/identity-provider': () => ({ path: '/connections/new/identity-provider' }),
  'POST /connections/new/identity-provider': async ({ grounds: { site } }) => ({
    path: '/connections/new/identity-provider',
    fields: {
      ...{ ...trust, claim: 'sub', value: 'clerk', scope: 'payments:read' },
      agentId: String((await site.world.whoami()).agentId),
    },
    purpose: '/connections/new/identity-provider',
  }),
  'POST /approvals/:approvalId/review': ({ grounds: { paths } }) => ({
    path: paths.approval,
    fields: { decision: 'approve' },
    purpose: `approval ${paths.approval.split('/')[2]}`,
  }),
  'POST /decide/:decisionId': ({ grounds: { paths } }) => ({
    path: paths.decision,
    fields: { decision: 'yes' },
    purpose: `decision ${paths.decision.split('/')[2]}`,
  }),
  'POST /oauth/consent/:uid': async (on, visitor) => ({
    path: await consentPage(on, visitor),
    fields: { decision: 'allow', agent: 'new', agentName: 'An agent that nobody allowed' },
    purpose: `consent ${(await consentPage(on, visitor)).split('/').at(-1)}`,
  }),
  'POST /request/:token': ({ paymentRequest: { id, path, formToken, walletId } }) => ({
    path,
    fields: { decision: 'wallet', walletId, formToken },
    purpose: `payment request ${id}`,
    tokenField: 'personToken',
  }),
}

/** Forms with which a person refuses something. A session without proof of identity is enough for them. */
const refusals: Record<string, Prepare> = {
  'denying a payment': ({ grounds: { paths } }) => ({
    path: paths.approval,
    fields: { decision: 'deny' },
    purpose: `approval ${paths.approval.split('/')[2]}`,
  }),
  'refusing a tool call': ({ grounds: { paths } }) => ({
    path: paths.decision,
    fields: { decision: 'no' },
    purpose: `decision ${paths.decision.split('/')[2]}`,
  }),
  'denying access to an application': async (on, visitor) => {
    const path = await consentPage(on, visitor)
    return { path, fields: { decision: 'deny' }, purpose: `consent ${path.split('/').at(-1)}` }
  },
  'declining a payment request': ({ paymentRequest: { id, path, formToken } }) => ({
    path,
    fields: { decision: 'decline', formToken },
    purpose: `payment request ${id}`,
    tokenField: 'personToken',
  }),
  'disconnecting an application': ({ grounds: { paths } }) => ({
    path: paths.connection,
    fields: { action: 'revoke' },
    purpose: `connection ${paths.connection.split('/').at(-1)}`,
  }),
}

/** Pages that need a session, but no proof of identity. */
const viewablePages: Record<RoutesAt<'session'> & `GET ${string}`, (on: Grounds) => string> = {
  'GET /verify/:challenge': ({ links }) => links.challenge,
  'GET /approvals/:approvalId/review': ({ paths }) => paths.approval,
  'GET /decisions': () => '/decisions',
  'GET /decide/:decisionId': ({ paths }) => paths.decision,
  'GET /oauth/consent/:uid': () => '/oauth/consent/made-up',
  'GET /connections': () => '/connections',
  'GET /console': () => '/console',
  'GET /console/find': () => '/console/find?id=run-1',
  'GET /console/requests/:id': () => '/console/requests/req_1',
  'GET /console/records/:recordId': () => '/console/records/pcd_1',
  'GET /console/search': () => '/console/search?text=merchant',
  'GET /console/runs/:runId': () => '/console/runs/run_1',
  'GET /console/runs/:runId/entries/:entryId': () => '/console/runs/run_1/entries/ent_1',
  'GET /console/runs/:runId/report': () => '/console/runs/run_1/report',
  'GET /console/money': () => '/console/money',
  'GET /console/money/wallets/:walletId': () => '/console/money/wallets/wal_1',
  'GET /console/sandbox': () => '/console/sandbox',
  'GET /console/stream': () => '/console/stream?topic=nothing',
  'GET /console/*': () => '/console/nothing',
}

/**
 * Returns the path of a page that asks the visitor to allow an application. For each visitor, the first call creates
 * the page, and later calls return the same path.
 */
async function consentPage({ grounds }: Fixture, visitor: Visitor): Promise<string> {
  const known = consentPages.get(visitor)
  if (known !== undefined) return known
  const { url } = await authorizationUrl(await createApplication(grounds.site.world))
  const { pathname, search } = new URL(url)
  const { location } = await visitor.open(pathname + search)
  const path = new URL(String(location), 'http://127.0.0.1:4010').pathname
  consentPages.set(visitor, path)
  return path
}
const consentPages = new WeakMap<Visitor, string>()

async function createFixture(database: TestDatabase): Promise<Fixture> {
  const grounds = await doorGrounds(database)
  const { world, owner, visitor } = grounds.site
  const other = await addParty(world)
  const payer = { type: 'party_id', value: owner.partyId }
  const made = await world.post('/payment-requests', { amount: 100, payer }, { key: other.apiKey })
  if (made.status >= 300) throw new Error(made.text)
  const { id, attributes } = made.json.data
  const path = new URL(attributes.paymentLinkUrl).pathname
  const page = await (await visitor(owner)).open(path)
  const formToken = /name="formToken" value="([\w.]+)"/.exec(page.text)?.[1] ?? ''
  const walletId = /name="walletId" value="(\w+)"/.exec(page.text)?.[1] ?? ''
  return { grounds, paymentRequest: { id, path, formToken, walletId } }
}

interface Person {
  visitor: Visitor
  formToken(purpose: string): string
}

let sessions = 0

/**
 * Signs the owner in. Returns a visitor with the new session, and a function that creates the session's form tokens.
 */
async function signInOwner(how: 'one click' | 'proof', { grounds: { site } }: Fixture): Promise<Person> {
  const { world, owner } = site
  const session = `session ${sessions++}`
  const nowMs = world.system.now()
  const row = { idHash: sha256(session), userId: owner.id, createdAtMs: nowMs, expiresAtMs: nowMs + 3_600_000 }
  await world.store.transaction((tx) => insertSession(tx, { ...row, oneClick: how === 'one click' ? 1 : 0 }))
  const signedIn = await new SignIn(world).of(session)
  const app = new Hono().all('*', (c) => world.service.fetch(c.req.raw))
  return { visitor: createVisitor(app, { session }), formToken: (purpose) => String(signedIn?.formToken(purpose)) }
}

async function perform(on: Fixture, prepare: Prepare, { visitor, formToken }: Person) {
  const { path, fields, purpose = '', tokenField = 'formToken' } = await prepare(on, visitor)
  if (fields === undefined) return visitor.open(path)
  return visitor.post(path, { ...fields, [tokenField]: formToken(purpose) })
}

onEachDatabase("actions on a person's pages", (database) => {
  let on: Fixture
  beforeAll(async () => {
    on = await createFixture(database)
  })
  afterAll(() => on.grounds.site.world.drop())

  test.each(Object.entries(viewablePages))(
    '%s opens after a one-click sign-in, but has no button for approving or paying',
    async (_, at) => {
      const path = at(on.grounds)
      const seen = await (await signInOwner('one click', on)).visitor.open(path)
      expect(String(seen.location)).not.toMatch(/^\/sign-in/)
      expect(seen.text).not.toMatch(/name="decision" value="(?:approve|yes|allow|wallet)"/)
      const unknown = await (await on.grounds.site.visitor()).open(path)
      expect([303, 401]).toContain(unknown.status)
    },
  )

  test.each(Object.entries(requestsThatNeedProof))('%s is refused without proof of identity', async (_, prepare) => {
    const { site } = on.grounds
    const oneClick = await signInOwner('one click', on)
    const unknown = { visitor: await site.visitor(), formToken: () => 'made up' }
    // The first call of `prepare` may start an OAuth authorization request, which adds rows. This call is made before
    // the attempt, so that these rows do not count as traces.
    for (const { visitor } of [oneClick, unknown]) await prepare(on, visitor)
    const traces = await tracesOf(site.world, undefined, async () => {
      const signInRedirect = { status: 303, location: expect.stringMatching(/^\/sign-in\?next=/) }
      expect(await perform(on, prepare, unknown)).toMatchObject(signInRedirect)
      const refused = await perform(on, prepare, oneClick)
      if (refused.status === 303) return expect(refused).toMatchObject(signInRedirect)
      expect(refused.status).toBe(403)
      for (const words of ['Nothing was changed', 'payments-mcp console', 'name="password"']) {
        expect(refused.text).toContain(words)
      }
    })
    expect(traces).toEqual(noTraces)
  })

  test.each(Object.entries(requestsThatNeedProof))('%s succeeds with proof of identity', async (_, prepare) => {
    const done = await perform(on, prepare, await signInOwner('proof', on))
    expect([200, 201, 303]).toContain(done.status)
    expect(String(done.location)).not.toMatch(/^\/sign-in/)
    expect(done.text).not.toContain('role="alert"')
  })
})

onEachDatabase('refusals on pages', (database) => {
  let on: Fixture
  beforeAll(async () => {
    on = await createFixture(database)
  })
  afterAll(() => on.grounds.site.world.drop())

  test.each(Object.entries(refusals))('a one-click sign-in suffices for %s', async (_, prepare) => {
    const oneClick = await signInOwner('one click', on)
    await prepare(on, oneClick.visitor)
    const traces = await tracesOf(on.grounds.site.world, undefined, async () => {
      const done = await perform(on, prepare, oneClick)
      expect(done).toMatchObject({ status: 303, location: expect.not.stringMatching(/^\/sign-in/) })
    })
    expect(traces.added).not.toEqual([])
  })
})
