import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { onEachDatabase, sqlite, type TestDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty } from '../support/world.ts'
import { address, createConsentRequest, createOAuthSite, createVisitor, type OAuthSite } from './oauth-site.ts'

const password = 'correct horse battery staple'

let site: OAuthSite

function useSite(database: TestDatabase) {
  beforeAll(async () => {
    site = await createOAuthSite(database)
  })
  afterAll(() => site.world.drop())
  beforeEach(() => {
    site.consentRequest = undefined
    site.decisions.length = 0
  })
}

const newVisitor = () => createVisitor(site.app())
const visitorAs = async (user = site.owner) => createVisitor(site.app(), { session: await site.sessionOf(user) })

describe('signing in', () => {
  useSite(sqlite)
  beforeAll(() => site.signIn.seedPassword(password))

  test('a page for signed-in users redirects to the sign-in page; in the sandbox, one click there signs in and leads back', async () => {
    const visitor = newVisitor()
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
    // A user who signed in with one click can still enter the password. After that, the sign-in page only redirects.
    const proof = await visitor.open('/sign-in?next=/connections')
    expect(proof.text).toContain('Confirm that it is you')
    expect(proof.text).not.toContain('Continue as')
    await visitor.send('/sign-in', { email: site.owner.email, password })
    expect(await visitor.open('/sign-in?next=/connections')).toMatchObject({ status: 303, location: '/connections' })
  })

  test('a user signs in with a password; after a wrong password, the form keeps only the email address', async () => {
    const visitor = newVisitor()
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

  // This test runs only in deep runs, because it hashes many passwords, which is slow. In every run,
  // test/oauth/sign-in.test.ts tests the limit without the page.
  test.runIf(isDeep)('after too many wrong passwords, the page says how long to wait', async () => {
    const { email } = await site.addUser()
    for (let count = 0; count < 10; count++) await newVisitor().post('/sign-in', { email, password: 'wrong' })
    const refused = await newVisitor().post('/sign-in', { email, password })
    expect(refused.status).toBe(429)
    expect(refused.text).toContain('Wait 15 minutes')
  })

  test('signing in sets an HttpOnly, SameSite cookie and ends the previous session', async () => {
    const visitor = newVisitor()
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

  test('signing in over https sets a cookie that is bound to the host and never sent unencrypted', async () => {
    const app = site.app({ publicUrl: () => 'https://pay.example' })
    const visitor = createVisitor(app, { origin: 'https://pay.example', session: await site.sessionOf(site.owner) })
    // The visitor's cookie is ignored: without the prefix `__Host-`, another host of the domain may have set it.
    expect(await visitor.open('/connections')).toMatchObject({ status: 303 })
    const { headers } = await visitor.post('/sign-in', { email: site.owner.email, password })
    const cookie = headers.getSetCookie().find((line) => line.startsWith('__Host-payments_session='))
    expect(cookie).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    expect(await visitor.open('/connections')).toMatchObject({ status: 200 })
  })

  test.each([
    ['under another host name', { origin: 'http://pay.example:4010' }],
    ['on a service with a public address', { publicUrl: () => 'https://pay.example' }],
    ['in production', { environment: 'production' as const }],
  ])(
    'one-click sign-in is unavailable %s',
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
  ])('a form sent with the headers %j signs nobody in', async (headers) => {
    const visitor = newVisitor()
    expect(await visitor.post('/sign-in', { as: 'owner' }, headers)).toMatchObject({ status: 403 })
    expect([...visitor.cookies]).toEqual([])
  })

  test.each([
    '/connections',
    '/oauth/consent/Ab_1-z',
    '/oauth/device',
    '/oauth/device/Ab_1-z',
    '/oauth/device?user_code=BCDF-GHJK',
  ])('signing in redirects to the address %s', async (next) => {
    expect(await newVisitor().post('/sign-in', { as: 'owner', next })).toMatchObject({ status: 303, location: next })
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
  ])('signing in does not redirect to the address %j', async (next) => {
    const visitor = newVisitor()
    expect((await visitor.open(`/sign-in?next=${encodeURIComponent(next)}`)).text).not.toContain('evil')
    expect(await visitor.post('/sign-in', { as: 'owner', next })).toMatchObject({ location: '/console' })
  })

  test('signing out ends the session, but only with a form from the same session', async () => {
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
    // The second request of a double click gets the same response.
    expect(await visitor.send('/sign-out')).toMatchObject({ status: 303, location: '/sign-in' })
    expect(await other.open('/connections')).toMatchObject({ status: 200 })
  })
})

onEachDatabase('connected applications', (database) => {
  useSite(database)

  test('if no application is connected, the page explains how to connect one', async () => {
    const { partyId } = await addParty(site.world)
    const visitor = await visitorAs(await site.addUser({ partyId }))
    expect((await visitor.open('/connections')).text).toContain('To connect one, add this service in the application')
  })

  async function connectApplication(client: Parameters<typeof createConsentRequest>[0] = {}) {
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

  test('the page shows the agent, permissions and last use of an application, and its form removes permissions', async () => {
    const { visitor, page, path } = await connectApplication()
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

  test('an application can be disconnected, and sending the form twice does no harm', async () => {
    const { visitor, path } = await connectApplication()
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

  test('a connection can be changed only by its own user, with a form from the same session', async () => {
    const { visitor, path, user } = await connectApplication()
    const token = /name="formToken" value="([0-9a-f]{64})"/
    const mine = (await visitor.open('/connections')).text.split(path)[1]?.match(token)?.[1] ?? ''
    const other = await visitorAs()
    const otherSession = await visitorAs(user)
    for (const someone of [other, otherSession, newVisitor()]) {
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
