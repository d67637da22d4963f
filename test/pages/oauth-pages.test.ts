import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { onEachDatabase, sqlite, type TestDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty } from '../support/world.ts'
import { address, createConsentRequest, createOAuthSite, createVisitor, type OAuthSite } from './oauth-site.ts'

const password = 'correct horse battery staple'

let site: OAuthSite

function siteOn(database: TestDatabase) {
  beforeAll(async () => {
    site = await createOAuthSite(database)
  })
  afterAll(() => site.world.drop())
  beforeEach(() => {
    site.consentRequest = undefined
    site.decisions.length = 0
  })
}

const stranger = () => createVisitor(site.app())
const visitorAs = async (user = site.owner) => createVisitor(site.app(), { session: await site.sessionOf(user) })

describe('signing in', () => {
  siteOn(sqlite)
  beforeAll(() => site.signIn.seedPassword(password))

  test('a page for signed-in users redirects to the sign-in and back, with one click in the sandbox', async () => {
    const visitor = stranger()
    expect(await visitor.open('/connections')).toMatchObject({
      status: 303,
      location: '/sign-in?next=%2Fconnections',
    })
    const page = await visitor.open('/sign-in?next=%2Fconnections')
    expect(page.status).toBe(200)
    expect(page.text).toContain(`Continue as <bdi>${site.owner.name}</bdi>`)
    const signedIn = await visitor.send('/sign-in', { as: 'owner' })
    expect(signedIn).toMatchObject({ status: 303, location: '/connections' })
    expect(await visitor.open('/connections')).toMatchObject({ status: 200 })
    // A user who signed in this way can still prove their identity, and is then not asked again.
    const proof = await visitor.open('/sign-in?next=/connections')
    expect(proof.text).toContain('Confirm that it is you')
    expect(proof.text).not.toContain('Continue as')
    await visitor.send('/sign-in', { email: site.owner.email, password })
    expect(await visitor.open('/sign-in?next=/connections')).toMatchObject({ status: 303, location: '/connections' })
  })

  test('works by password; after a wrong password, the form keeps only the email address', async () => {
    const visitor = stranger()
    await visitor.open('/sign-in')
    const wrong = await visitor.send('/sign-in', { email: site.owner.email, password: 'wRong-Secret' })
    expect(wrong.status).toBe(401)
    expect(wrong.text).toContain('role="alert"')
    expect(wrong.text).toContain(`value="${site.owner.email}"`)
    expect(wrong.text).not.toContain('wRong-Secret')
    expect([...visitor.cookies]).toEqual([])
    const unknown = await visitor.send('/sign-in', { email: 'nobody@example.com', password })
    expect(unknown.text.replace('nobody@example.com', site.owner.email)).toBe(wrong.text)
    expect(await visitor.send('/sign-in', { email: site.owner.email, password: '' })).toMatchObject({ status: 422 })
    expect(await visitor.send('/sign-in', { email: '', password })).toMatchObject({ status: 422 })
    const right = await visitor.send('/sign-in', { email: ` ${site.owner.email.toUpperCase()} `, password })
    expect(right).toMatchObject({ status: 303, location: '/console' })
    expect(site.world.logged.join()).not.toContain(password)
  })

  // Hashing so many passwords is slow. In every run, test/oauth/sign-in.test.ts tests the limit of wrong passwords.
  test.runIf(isDeep)('too many wrong passwords are explained in words', async () => {
    const { email } = await site.addUser()
    for (let count = 0; count < 10; count++) await stranger().post('/sign-in', { email, password: 'wrong' })
    const refused = await stranger().post('/sign-in', { email, password })
    expect(refused.status).toBe(429)
    expect(refused.text).toContain('Wait 15 minutes')
  })

  test('sets a cookie that is hidden from scripts and other sites, and ends the earlier session', async () => {
    const visitor = stranger()
    const { headers } = await visitor.post('/sign-in', { as: 'owner' })
    const cookies = headers.getSetCookie()
    const session = cookies.find((line) => line.startsWith('payments_session='))
    expect(session).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/)
    for (const name of ['_session', '_session.sig']) {
      expect(cookies).toContain(`${name}=; Max-Age=0; Path=/`)
    }
    const [name, before] = [...visitor.cookies][0] ?? []
    await visitor.post('/sign-in', { as: 'owner' })
    expect(visitor.cookies.get(String(name))).not.toBe(before)
    expect(await site.signIn.of(before)).toBeUndefined()
  })

  test('over https sets a cookie that is bound to the host and never sent unencrypted', async () => {
    const app = site.app({ publicUrl: () => 'https://pay.example' })
    const visitor = createVisitor(app, { origin: 'https://pay.example', session: await site.sessionOf(site.owner) })
    // Without this prefix, a neighboring host could set the cookie.
    expect(await visitor.open('/connections')).toMatchObject({ status: 303 })
    const { headers } = await visitor.post('/sign-in', { email: site.owner.email, password })
    const cookie = headers.getSetCookie().find((line) => line.startsWith('__Host-payments_session='))
    expect(cookie).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    expect(await visitor.open('/connections')).toMatchObject({ status: 200 })
  })

  test.each([
    ['another name of the service in the address', { origin: 'http://pay.example:4010' }],
    ['a service that others can reach', { publicUrl: () => 'https://pay.example' }],
    ['production', { environment: 'production' as const }],
  ])(
    'one click does not exist with %s',
    async (_, {
      origin = address,
      ...options
    }: { origin?: string; publicUrl?: () => string; environment?: 'production' }) => {
      const visitor = createVisitor(site.app(options), { origin })
      expect((await visitor.open('/sign-in')).text).not.toContain('Continue as')
      expect(await visitor.post('/sign-in', { as: 'owner' })).toMatchObject({ status: 403 })
      expect([...visitor.cookies]).toEqual([])
    },
  )

  test.each([
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
  ])('a form from another site signs nobody in: %o', async (headers) => {
    const visitor = stranger()
    expect(await visitor.post('/sign-in', { as: 'owner' }, headers)).toMatchObject({ status: 403 })
    expect([...visitor.cookies]).toEqual([])
  })

  test.each([
    '/connections',
    '/oauth/consent/Ab_1-z',
    '/oauth/device',
    '/oauth/device/Ab_1-z',
    '/oauth/device?user_code=BCDF-GHJK',
  ])('goes on to %s', async (next) => {
    expect(await stranger().post('/sign-in', { as: 'owner', next })).toMatchObject({ status: 303, location: next })
  })

  test.each([
    'https://evil.example/connections',
    '//evil.example',
    '/\\evil.example',
    '/connections/../console',
    '/connections\r\nSet-Cookie: a=b',
    '/oauth/consent/..',
    '/oauth/consent/x?y=z',
    '/oauth/device?user_code=x&next=//evil.example',
    'javascript:alert(1)',
    '',
  ])('does not redirect to another site: %j', async (next) => {
    const visitor = stranger()
    expect((await visitor.open(`/sign-in?next=${encodeURIComponent(next)}`)).text).not.toContain('evil')
    expect(await visitor.post('/sign-in', { as: 'owner', next })).toMatchObject({ location: '/console' })
  })

  test('signing out ends the session, but only from a form of the same session', async () => {
    const visitor = await visitorAs()
    const other = await visitorAs()
    const session = visitor.cookies.get('payments_session')
    await other.open('/connections')
    await visitor.open('/connections')
    expect(await visitor.post('/sign-out', {})).toMatchObject({ status: 403 })
    expect(await visitor.send('/sign-out', {}, { 'Sec-Fetch-Site': 'cross-site' })).toMatchObject({ status: 403 })
    expect(await visitor.send('/sign-out', { formToken: 'x'.repeat(64) })).toMatchObject({ status: 403 })
    expect(await site.signIn.of(session)).toBeDefined()
    expect(await visitor.send('/sign-out')).toMatchObject({ status: 303, location: '/sign-in' })
    expect([...visitor.cookies]).toEqual([])
    expect(await site.signIn.of(session)).toBeUndefined()
    // A double click sends the form twice.
    expect(await visitor.send('/sign-out')).toMatchObject({ status: 303, location: '/sign-in' })
    expect(await other.open('/connections')).toMatchObject({ status: 200 })
  })
})

onEachDatabase('connected applications', (database) => {
  siteOn(database)

  test('if there is none, the page explains how to connect an application', async () => {
    const { partyId } = await addParty(site.world)
    const visitor = await visitorAs(await site.addUser({ partyId }))
    expect((await visitor.open('/connections')).text).toContain('To connect one, add this service in the application')
  })

  async function connected(client: Parameters<typeof createConsentRequest>[0] = {}) {
    const user = await site.addUser()
    const visitor = await visitorAs(user)
    site.consentRequest = createConsentRequest(client)
    await visitor.open('/oauth/consent/uid-1')
    site.consentRequest = { ...site.consentRequest, uid: user.id }
    await visitor.open(`/oauth/consent/${user.id}`)
    const agent = (await site.world.whoami()).agentId ?? ''
    expect(await visitor.send(`/oauth/consent/${user.id}`, { decision: 'allow', agent })).toMatchObject({
      status: 303,
    })
    const page = await visitor.open('/connections')
    const [, path = ''] = page.text.match(/action="(\/connections\/ogr_[0-9a-f]+)"/) ?? []
    return { visitor, page, path, user }
  }

  test('shows the agent, the permissions and the last use of each application, and removes permissions', async () => {
    const { visitor, page, path } = await connected()
    expect(page.text).toContain('<bdi>Assistant</bdi></h2>')
    expect(page.text).toContain('<bdi>Sandbox shopper</bdi>')
    expect(page.text).toContain('<dt>Last used</dt><dd>Never</dd>')
    expect(page.text.match(/type="checkbox"/g)).toHaveLength(2)
    expect(await visitor.send(path, { action: 'narrow', scope: ['payments:read', 'account:read'] })).toMatchObject({
      status: 303,
      location: '/connections?done=narrowed',
    })
    const after = await visitor.open('/connections?done=narrowed')
    expect(after.text).toContain('role="status">The permissions are saved.')
    expect(after.text.match(/type="checkbox"/g)).toHaveLength(1)
    expect(after.text).toContain('value="payments:read" checked')
    const none = await visitor.send(path, { action: 'narrow' })
    expect(none.location).toBe('/connections?done=none_kept')
    expect((await visitor.open(String(none.location))).text).toContain('role="alert">Nothing was saved.')
  })

  test('disconnects; a double click does no harm', async () => {
    const { visitor, path } = await connected()
    for (const _ of ['once', 'twice']) {
      expect(await visitor.send(path, { action: 'revoke' })).toMatchObject({
        status: 303,
        location: '/connections?done=revoked',
      })
    }
    const { text } = await visitor.open('/connections?done=revoked')
    expect(text).toContain('role="status">The application is disconnected')
    expect(text).not.toContain('type="checkbox"')
    expect((await visitor.open('/connections?done=constructor')).text).not.toContain('role="status"')
  })

  test('changes a connection only from its own user’s page, in the session that showed the page', async () => {
    const { visitor, path, user } = await connected()
    const token = /name="formToken" value="([0-9a-f]{64})"/
    const mine = (await visitor.open('/connections')).text.split(path)[1]?.match(token)?.[1] ?? ''
    const other = await visitorAs()
    const otherSession = await visitorAs(user)
    for (const someone of [other, otherSession, stranger()]) {
      const { status } = await someone.post(path, { action: 'revoke', formToken: mine })
      expect(status).toBe(someone.cookies.size === 0 ? 303 : 403)
    }
    expect(await visitor.post(path, { action: 'revoke', formToken: mine }, { Origin: 'null' })).toMatchObject({
      status: 403,
    })
    expect(await visitor.post(path, { action: 'extend', formToken: mine })).toMatchObject({ status: 403 })
    expect((await visitor.open('/connections')).text).toContain(path)
    const signedIn = await site.signIn.of(other.cookies.get('payments_session'))
    const formToken = signedIn?.formToken(`connection ${path.slice('/connections/'.length)}`) ?? ''
    expect(await other.post(path, { action: 'revoke', formToken })).toMatchObject({ status: 404 })
    expect((await visitor.open('/connections')).text).toContain(path)
  })
})
