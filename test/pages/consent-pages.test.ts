import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createConnections } from '../../src/service/oauth/connections.ts'
import { consentHeaders } from '../../src/service/pages/frame/oauth-headers.ts'
import { createAgent } from '../../src/service/store/agents.ts'
import { defaultWallet } from '../../src/service/store/wallets.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { addParty } from '../support/world.ts'
import { createConsentRequest, createOAuthSite, createVisitor, type OAuthSite } from './oauth-site.ts'

const path = '/oauth/consent/uid-1'

onEachDatabase('the consent pages', (database) => {
  let site: OAuthSite
  let agentId: string
  let count = 0

  beforeAll(async () => {
    site = await createOAuthSite(database)
    agentId = String((await site.world.whoami()).agentId)
  })
  afterAll(() => site.world.drop())
  beforeEach(() => {
    site.consentRequest = createConsentRequest({ uid: `uid-${++count}` })
    site.decisions.length = 0
  })

  const here = () => `/oauth/consent/uid-${count}`
  const visitorAs = async (user = site.owner) => createVisitor(site.app(), { session: await site.sessionOf(user) })
  const connectionsOf = (user = site.owner) => createConnections(site.world).list(user)

  test('a visitor must sign in first, and then returns to the consent page', async () => {
    const visitor = createVisitor(site.app())
    const { status, location } = await visitor.open(here())
    expect([status, location]).toEqual([303, `/sign-in?next=${encodeURIComponent(here())}`])
    await visitor.open(String(location))
    const { email } = site.owner
    const { password } = await site.signIn.seedPassword(undefined)
    const sent = { email: String(email), password: String(password) }
    expect(await visitor.send('/sign-in', sent)).toMatchObject({ location: here() })
    expect((await visitor.open(here())).text).toContain('value="allow"')
  })

  test('a one-click sign-in is enough to deny a request, but not to allow it', async () => {
    const visitor = createVisitor(site.app())
    await visitor.open(`/sign-in?next=${encodeURIComponent(here())}`)
    await visitor.send('/sign-in', { as: 'owner' })
    const page = await visitor.open(here())
    expect(page.text).not.toContain('value="allow"')
    expect(page.text).toContain(`href="/sign-in?next=${encodeURIComponent(here())}"`)
    const allowed = await visitor.send(here(), { decision: 'allow', agent: 'new', agentName: 'Mine' })
    expect(allowed.status).toBe(403)
    expect(allowed.text).toContain('Nothing was changed')
    expect(site.decisions).not.toContainEqual(expect.stringContaining('allowed'))
    await visitor.open(here())
    expect((await visitor.send(here(), { decision: 'deny' })).location).toContain('error=access_denied')
  })

  test('signing out leads to a sign-in page that returns to the consent page', async () => {
    const visitor = await visitorAs()
    await visitor.open(here())
    const { location } = await visitor.send('/sign-out')
    expect(location).toBe(`/sign-in?next=${encodeURIComponent(here())}`)
  })

  test('a request that has ended, or that belongs to another browser, cannot be answered', async () => {
    const visitor = await visitorAs()
    await visitor.open(here())
    const other = await visitor.open('/oauth/consent/another')
    expect(other.status).toBe(400)
    expect(other.text).toContain('start again there')
    await visitor.open(here())
    site.consentRequest = undefined
    expect(await visitor.send(here(), { decision: 'allow', agent: agentId })).toMatchObject({ status: 400 })
    expect(site.decisions).toEqual([])
  })

  test('the page shows the application and its request; allowing it connects the chosen agent', async () => {
    const user = await site.addUser()
    const visitor = await visitorAs(user)
    const { text } = await visitor.open(here())
    expect(text).toContain('<h1><bdi>Assistant</bdi> asks to connect</h1>')
    expect(text).toContain('<bdi>Max Member</bdi>')
    expect(text).toContain('<li>Issue cards for single purchases, and use them</li>')
    expect(text).toContain(`value="${agentId}" aria-describedby="about-0" checked`)
    expect(text).not.toContain('Create a new agent')
    const answer = await visitor.send(here(), { decision: 'allow', agent: agentId })
    expect(answer).toMatchObject({ status: 303, location: 'https://assistant.example/callback?code=1' })
    // The response also sets the authorization server's own cookies.
    expect(answer.headers.getSetCookie()).toHaveLength(2)
    expect(answer.headers.get('referrer-policy')).toBe('same-origin')
    const [connection] = await connectionsOf(user)
    expect(connection).toMatchObject({ clientName: 'Assistant', agentName: 'Sandbox shopper' })
    expect(site.decisions).toEqual([`${user.id} allowed Assistant payments:read cards:agent by ${connection?.grantId}`])
    // If the same application asks again, the page marks the agent to which the application is already connected.
    site.consentRequest = createConsentRequest({ uid: `uid-${++count}` })
    expect((await visitor.open(here())).text).toContain('<p class="current">Connected now</p>')
  })

  test('a decision that is sent twice is carried out once', async () => {
    const user = await site.addUser({ role: 'ADMIN' })
    const visitor = await visitorAs(user)
    await visitor.open(here())
    const fields = { decision: 'allow', agent: 'new', agentName: `Twin ${user.id}` }
    const both = await Promise.all([visitor.send(here(), fields), visitor.send(here(), fields)])
    expect(both.map(({ status }) => status)).toEqual([303, 303])
    expect(new Set(site.decisions).size).toBe(1)
    expect(await connectionsOf(user)).toHaveLength(1)
  })

  test('denying redirects back to the application and grants nothing', async () => {
    const user = await site.addUser()
    const visitor = await visitorAs(user)
    await visitor.open(here())
    const answer = await visitor.send(here(), { decision: 'deny', agent: agentId })
    expect(answer.location).toBe('https://assistant.example/callback?error=access_denied')
    expect(site.decisions).toEqual(['denied'])
    expect(await connectionsOf(user)).toEqual([])
  })

  test('a user can create the agent; a line break in its description counts as one character', async () => {
    const user = await site.addUser({ role: 'ADMIN' })
    const visitor = await visitorAs(user)
    expect((await visitor.open(here())).text).toContain('Create a new agent')
    const fields = {
      decision: 'allow',
      agent: 'new',
      agentName: '  Books ',
      agentDescription: 'Buys\r\n'.padEnd(501, 'b'),
    }
    expect(await visitor.send(here(), fields)).toMatchObject({ status: 303 })
    expect(await connectionsOf(user)).toMatchObject([{ agentName: 'Books' }])
    site.consentRequest = createConsentRequest({ uid: `uid-${++count}` })
    expect((await visitor.open(here())).text).toContain(`<bdi>Buys ${'b'.repeat(495)}</bdi>`)
  })

  test.each([
    ['a new agent that has no name', { agent: 'new', agentName: ' ' }, 'Enter a name', 'name="agentName"'],
    ['too long a name', { agent: 'new', agentName: 'ä'.repeat(101) }, 'has 101 characters', 'name="agentName"'],
    [
      'too long a description',
      { agent: 'new', agentName: 'A', agentDescription: '€'.repeat(501) },
      'has 501 characters',
      'name="agentDescription"',
    ],
    ['no agent', {}, 'Choose the agent', 'id="agent-0"'],
    ['an unknown agent id', { agent: 'agt_0' }, 'Choose the agent', 'id="agent-0"'],
    ['the user instead of an agent', { agent: '' }, 'Choose the agent', 'id="agent-0"'],
  ])('a decision with %s is refused, and the form keeps what was entered', async (_, fields, words, focused) => {
    const visitor = await visitorAs()
    await visitor.open(here())
    const agentFields = { agentDescription: 'For <b> & "books"', ...fields }
    const { status, text } = await visitor.send(here(), { decision: 'allow', ...agentFields })
    expect(status).toBe(422)
    expect(text).toContain('<title>Error: Connect Assistant</title>')
    expect(text).toMatch(new RegExp(`id="problem" role="alert">[^<]*${words}`))
    expect(text.match(/<(?:input|textarea)[^>]* autofocus/g)).toMatchObject([expect.stringContaining(focused)])
    if (agentFields.agentDescription.startsWith('For'))
      expect(text).toContain('\nFor &lt;b&gt; &amp; &quot;books&quot;</textarea>')
    expect(site.decisions).toEqual([])
  })

  test('a member whose party has no agents learns that the application acts as the member', async () => {
    const { partyId, agentId: theirs } = await addParty(site.world)
    await site.deleteAgent(theirs)
    const user = await site.addUser({ partyId })
    const visitor = await visitorAs(user)
    const { text } = await visitor.open(here())
    expect(text).toContain('The application acts as you, <bdi>Max Member</bdi>, not as an agent.')
    expect(text).not.toContain('type="radio"')
    // The form offers no agents, so the service ignores the agent in this request.
    expect(await visitor.send(here(), { decision: 'allow', agent: agentId })).toMatchObject({ status: 303 })
    expect(await connectionsOf(user)).toMatchObject([{ agentName: null }])
  })

  test('an owner whose party has no agents can only create one', async () => {
    const { partyId, agentId: theirs } = await addParty(site.world)
    await site.deleteAgent(theirs)
    const user = await site.addUser({ partyId, role: 'OWNER' })
    const visitor = await visitorAs(user)
    const { text } = await visitor.open(here())
    expect(text).toContain('Create the agent that the application acts as')
    expect(text).not.toContain('type="radio"')
    expect(await visitor.send(here(), { decision: 'allow', agentName: '' })).toMatchObject({ status: 422 })
    expect(await visitor.send(here(), { decision: 'allow', agentName: 'First' })).toMatchObject({ status: 303 })
    expect(await connectionsOf(user)).toMatchObject([{ agentName: 'First' }])
  })

  test('a decision is accepted only from the form of this request, in this session and on this site', async () => {
    const visitor = await visitorAs()
    await visitor.open(here())
    const fields = { decision: 'allow', agent: agentId }
    for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://evil.example' }]) {
      expect(await visitor.send(here(), fields, headers)).toMatchObject({ status: 403 })
    }
    const otherSession = await site.signIn.of(await site.sessionOf(site.owner))
    const session = await site.signIn.of(visitor.cookies.get('payments_session'))
    const tokens = [
      '',
      otherSession?.formToken(`consent uid-${count}`),
      session?.formToken('consent uid-0'),
      session?.formToken('sign out'),
    ]
    for (const formToken of tokens) {
      expect(await visitor.post(here(), { ...fields, formToken: formToken ?? '' })).toMatchObject({ status: 403 })
      expect(await visitor.post(here(), { decision: 'deny', formToken: formToken ?? '' })).toMatchObject({
        status: 403,
      })
    }
    expect(await visitor.send(here(), { agent: agentId })).toMatchObject({ status: 403 })
    expect(await visitor.send(here(), { ...fields, more: 'x'.repeat(20_000) })).toMatchObject({ status: 400 })
    expect(site.decisions).toEqual([])
    expect(await visitor.send(here(), fields)).toMatchObject({ status: 303 })
  })
})

describe('the self-description of an application', () => {
  let site: OAuthSite
  beforeAll(async () => {
    site = await createOAuthSite(sqlite)
  })
  afterAll(() => site.world.drop())

  async function pageFor(client: NonNullable<Parameters<typeof createConsentRequest>[0]>['client'] = {}) {
    site.consentRequest = createConsentRequest(client === undefined ? {} : { client })
    const visitor = createVisitor(site.app(), { session: await site.sessionOf(site.owner) })
    return visitor.open(path)
  }

  test('an application’s name counts as verified only if the application’s id is an https address', async () => {
    expect((await pageFor()).text).toContain('Verified as <strong>assistant.example</strong>')
    for (const id of ['b8e6f1', 'http://assistant.example/client.json']) {
      const { text } = await pageFor({ id })
      expect(text).toContain('Its name is not verified.')
      expect(text).not.toContain('<strong>assistant.example')
    }
  })

  test.each([
    ['https://elsewhere.example:8443/a?b', 'elsewhere.example:8443'],
    ['http://127.0.0.1:51234/callback', 'This computer'],
    ['http://[::1]:51234/callback', 'This computer'],
    ['com.example.app:/callback', 'This computer: the app that opens com.example.app: addresses'],
    [null, 'The device that showed you the code'],
    [`https://${'a.'.repeat(100)}example/`, `${'a.'.repeat(100)}example`],
    // A host name with look-alike letters is shown in its ASCII form.
    ['https://аpple.example/', 'xn--pple-43d.example'],
  ])('for the redirect address %s, the page says that the answer goes to “%s”', async (redirectUri, words) => {
    expect((await pageFor({ redirectUri })).text).toContain(`<dt>Returns to</dt><dd>${words}</dd>`)
  })

  test.each([
    ['https://elsewhere.example:8443/a?b', "'self' https://elsewhere.example:8443"],
    ['http://127.0.0.1:51234/callback', "'self' http://127.0.0.1:51234"],
    ['http://[::1]:51234/callback', "'self' http:"],
    ['com.example.app:/callback', "'self' com.example.app:"],
    ["https://a;script-src,b'*.example/", "'self' https:"],
    [null, "'self'"],
  ])('for the redirect address %s, the Content-Security-Policy has the form-action %s', (redirectUri, sources) => {
    const policy = consentHeaders(redirectUri)['Content-Security-Policy']?.split('; ')
    expect(policy).toEqual([
      "default-src 'none'",
      "style-src 'self'",
      "img-src 'self'",
      `form-action ${sources}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
  })

  test('the page’s Content-Security-Policy allows the application’s redirect address, and the page stays connected to the window that opened it', async () => {
    const { headers } = await pageFor({ redirectUri: 'http://127.0.0.1:51234/callback' })
    expect(headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:51234;")
    expect(headers.get('cross-origin-opener-policy')).toBeNull()
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test.each([
    ['a script', '<script>alert(1)</script>', '<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>'],
    ['characters that reorder text or end lines', 'a\u202eb\u2066c\r\nd', '<bdi>a\ufffdb\ufffdc d</bdi>'],
    ['2,000 letters', 'n'.repeat(2000), `<bdi>${'n'.repeat(79)}…</bdi>`],
    ['2,000 emoji', '😀'.repeat(2000), `<bdi>${'😀'.repeat(79)}…</bdi>`],
    ['only invisible characters', ' \u202e\n ', '<bdi>assistant.example</bdi>'],
    ['only filler characters', '\u3164\u2800', '<bdi>assistant.example</bdi>'],
    ['zero-width characters', 'A\u200bB\u2060', '<bdi>A\ufffdB\ufffd</bdi>'],
    ['stacked combining marks', `a${'\u0336'.repeat(5000)}`, `<bdi>a${'\u0336'.repeat(3)}</bdi>`],
  ])('the name of a hostile application is made safe to show: %s', async (_, name, displayedName) => {
    const { text } = await pageFor({ name })
    expect(text).toContain(`<h1>${displayedName} asks to connect</h1>`)
    expect(text).not.toMatch(/<script|\u202e|\u2066/)
    expect(text.length).toBeLessThan(8000)
  })

  test('HTML in an agent’s name or description is shown as plain text', async () => {
    const { store, system } = site.world
    await store.transaction(async (tx) => {
      const nowMs = system.now()
      const wallet = await defaultWallet(tx, site.owner.partyId)
      const agent = { name: '<b>\u202eA', description: '"><i>', createdBy: null, partyId: site.owner.partyId }
      await createAgent({ tx, system, nowMs }, agent, wallet?.id ?? '', [])
    })
    const { text } = await pageFor()
    expect(text).toContain('<bdi>&lt;b&gt;\ufffdA</bdi>')
    expect(text).toContain('<bdi>&quot;&gt;&lt;i&gt;</bdi>')
  })

  test('the form shows the limits of each agent', async () => {
    const { world, owner } = site
    const first = await pageFor({})
    expect(first.text).toContain('It has no limits of its own. Its wallet has $2,500.00.')
    const { agentId } = await world.whoami()
    const limits = { perTransaction: 500, perDay: 2000, perMonth: null }
    await world.send('PATCH', `/agents/${agentId}`, { key: world.apiKey, attributes: { limits } })
    const account = JSON.stringify({ perMonth: 500_000 })
    await world.store.transaction((tx) =>
      tx.db.updateTable('parties').set({ limits: account }).where('id', '=', owner.partyId).execute(),
    )
    const limitWords =
      'Without approval, it can spend up to $5.00 per transaction, $20.00 per day (UTC). The whole account can spend up to $5,000.00 per month (UTC). Its wallet has $2,500.00.'
    const { text } = await pageFor({})
    expect(text).toContain(limitWords)
    // A new agent has no limits yet, so the option “Create a new agent” shows only the limits of the account.
    expect(text).toContain('It has no limits of its own. The whole account')
  })
})
