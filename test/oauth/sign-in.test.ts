import { createHook } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newId, realSystem, sha256 } from '../../src/core/system.ts'
import { hashOfPassword, replacePassword } from '../../src/service/oauth/sign-in.ts'
import type { Caller } from '../../src/service/request/client-address.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { savePassword } from '../../src/service/store/passwords.ts'
import { createUser, firstOwner } from '../../src/service/store/users.ts'
import { onEachDatabase, sqlite, type TestDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { address, openBrowser } from './browser.ts'

const minuteMs = 60_000
const password = 'correct horse battery staple'

let world: World
afterEach(() => world.drop())

interface Answer {
  status: number
  cookies: string[]
  location: string | null
  text: string
}

const sameOriginHeaders = { origin: address, 'sec-fetch-site': 'same-origin' }

/** Submits a form as a browser on the sign-in page does. `headers` replaces the browser's headers. */
async function send(
  path: string,
  fields: Record<string, string>,
  { headers = sameOriginHeaders, service = world.service, origin = address, from }: Sending = {},
): Promise<Answer> {
  const body = new URLSearchParams(fields)
  const request = new Request(`${origin}${path}`, { method: 'POST', body, headers })
  const response = await service.fetch(request, from === undefined ? undefined : { local: false, address: from })
  const { status } = response
  const cookies = response.headers.getSetCookie()
  return { status, cookies, location: response.headers.get('location'), text: await response.text() }
}

interface Sending {
  headers?: Record<string, string>
  service?: Service
  origin?: string
  /** The client's network address; undefined for a client within this process. */
  from?: string
}

const cookieOf = ({ cookies }: Answer) => cookies.find((cookie) => /payments_session=[^;]/.test(cookie)) ?? ''
const browserOf = ({ cookies }: Answer) => /payments_browser=[^;]+/.exec(cookies.join('\n'))?.[0] ?? ''
const canOpen = async (answer: Answer) => {
  const headers = { cookie: cookieOf(answer).split(';')[0] ?? '' }
  return (await world.service.fetch(new Request(`${address}/connections`, { headers }))).status === 200
}

/** Creates a second service on the same database, with the given settings. */
function deployService(change: Partial<Parameters<typeof createService>[0]>): Service {
  const { store, system } = world
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  return createService({ store, system, log, environment: 'sandbox', rateLimit: 1000, ...change })
}

async function addUser(email: string): Promise<string> {
  const createdAtMs = world.system.now()
  const id = newId('usr', world.system, createdAtMs)
  const { partyId } = await world.whoami()
  const row = { id, partyId, role: 'MEMBER', name: 'A member', email, mfaVerifiedAtMs: null, createdAtMs } as const
  await world.store.transaction((tx) => createUser(tx, row))
  return id
}

async function setPassword(userId: string): Promise<void> {
  const hash = await hashOfPassword(password, world.system)
  await world.store.transaction((tx) => savePassword(tx, { userId, hash }))
}

/** Stores refused sign-ins of an account, each from a different network address. */
async function insertRefusals(email: string, count: number): Promise<void> {
  const refusedAtMs = world.system.now()
  const row = (number: number) => ({
    id: `refusal ${number}`,
    account: sha256(email),
    source: `many ${number}`,
    refusedAtMs,
  })
  const rows = Array.from({ length: count }, (_, number) => row(number))
  await world.store.transaction(({ db }) => db.insertInto('refusedPasswords').values(rows).execute())
}

/** Creates a world whose owner has a password. Returns the owner's email address. */
async function begin(database: TestDatabase): Promise<string> {
  world = await createWorld(database)
  const owner = await world.store.transaction(firstOwner)
  await setPassword(String(owner?.id))
  return String(owner?.email)
}

/** Counts the computed password hashes until the returned function is called. This function returns the count. */
function countHashes() {
  let count = 0
  const hook = createHook({ init: (_id, type) => void (type === 'SCRYPTREQUEST' && count++) }).enable()
  return () => {
    hook.disable()
    return count
  }
}

onEachDatabase('signing in', (database) => {
  let email: string
  beforeEach(async () => {
    email = await begin(database)
  })

  test('a sign-in needs the exact password; the email address may have any case and spaces around it', async () => {
    const right = await send('/sign-in', { email: ` ${email.toUpperCase()} `, password })
    expect([right.status, right.location, await canOpen(right)]).toEqual([303, '/console', true])
    for (const wrong of [`${password} `, password.toUpperCase(), password.slice(0, -1), 'x'.repeat(1000)]) {
      const refused = await send('/sign-in', { email, password: wrong })
      expect([refused.status, cookieOf(refused)]).toEqual([401, ''])
    }
    const rows = await world.store.transaction(({ db }) => db.selectFrom('signInSessions').selectAll().execute())
    const session = /payments_session=([^;]+)/.exec(cookieOf(right))?.[1] ?? ''
    expect(rows).toHaveLength(1)
    expect(session.length).toBeGreaterThan(40)
    expect(JSON.stringify(rows)).not.toContain(session)
    expect(world.logged.join('\n')).not.toContain(password)
    expect(world.logged.join('\n')).not.toContain(session)
  })

  test('after ten wrong passwords, even simultaneous ones, the right one is refused for 15 minutes too', async () => {
    const tries = Array.from({ length: 12 }, (_, count) => send('/sign-in', { email, password: `wrong ${count}` }))
    const statuses = (await Promise.all(tries)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    expect((await send('/sign-in', { email, password })).status).toBe(429)
    world.system.pass(15 * minuteMs - 1)
    expect((await send('/sign-in', { email, password })).status).toBe(429)
    world.system.pass(1)
    expect((await send('/sign-in', { email, password })).status).toBe(303)
  })

  test('wrong passwords block an account only for the network address that sent them', async () => {
    const [stranger, owner] = ['192.0.2.1', '2001:db8:0:0::/64']
    const tried = []
    for (let count = 0; count < 11; count++)
      tried.push(await send('/sign-in', { email, password: 'x' }, { from: stranger }))
    expect(tried.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429])
    expect((await send('/sign-in', { email, password }, { from: stranger })).status).toBe(429)
    expect((await send('/sign-in', { email, password }, { from: owner })).status).toBe(303)
    expect((await send('/sign-in', { email, password }, { from: stranger })).status).toBe(429)
  })

  test('a browser in which the user signed in before works even at a blocked network address', async () => {
    const from = '192.0.2.1'
    const knownBrowser = browserOf(await send('/sign-in', { email, password }, { from }))
    const wrong = async (headers: Record<string, string>, count = 10) => {
      for (let tried = 0; tried < count; tried++)
        await send('/sign-in', { email, password: 'wrong' }, { from, headers })
    }
    await wrong(sameOriginHeaders)
    expect((await send('/sign-in', { email, password }, { from })).status).toBe(429)
    expect(
      (
        await send(
          '/sign-in',
          { email, password },
          { from, headers: { ...sameOriginHeaders, cookie: 'payments_browser=made-up' } },
        )
      ).status,
    ).toBe(429)
    const again = await send(
      '/sign-in',
      { email, password },
      { from, headers: { ...sameOriginHeaders, cookie: knownBrowser } },
    )
    expect(again.status).toBe(303)
    // Each sign-in gives the browser a new cookie, and the old cookie becomes useless.
    expect(
      (await send('/sign-in', { email, password }, { from, headers: { ...sameOriginHeaders, cookie: knownBrowser } }))
        .status,
    ).toBe(429)
    const cookie = browserOf(again)
    // The cookie alone signs nobody in. Ten wrong passwords block even a browser that sends the cookie.
    expect((await world.service.fetch(new Request(`${address}/connections`, { headers: { cookie } }))).status).toBe(303)
    await wrong({ ...sameOriginHeaders, cookie })
    expect(
      (await send('/sign-in', { email, password }, { from, headers: { ...sameOriginHeaders, cookie } })).status,
    ).toBe(429)
    const rows = await world.store.read(({ db }) => db.selectFrom('knownBrowsers').selectAll().execute())
    expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1])
  })

  test('a browser is known only for the user who last signed in with it, until that user’s password changes', async () => {
    const other = 'member@example.com'
    await setPassword(await addUser(other))
    const from = '192.0.2.1'
    const blockAccount = async () => {
      for (let tried = 0; tried < 10; tried++) await send('/sign-in', { email, password: 'wrong' }, { from })
    }
    const cookies: string[] = []
    for (const who of [other, email])
      cookies.push(browserOf(await send('/sign-in', { email: who, password }, { from })))
    await blockAccount()
    const statuses = async () => {
      const answers = cookies.map((cookie) =>
        send('/sign-in', { email, password: 'wrong' }, { from, headers: { ...sameOriginHeaders, cookie } }),
      )
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    expect(await statuses()).toEqual([429, 401])
    // After the other user signs in with the owner's browser, that browser is no longer known for the owner.
    const headers = { ...sameOriginHeaders, cookie: String(cookies[1]) }
    expect((await send('/sign-in', { email: other, password }, { from, headers })).status).toBe(303)
    expect(await statuses()).toEqual([429, 429])
    cookies[1] = browserOf(await send('/sign-in', { email, password }, { from: '192.0.2.2' }))
    expect(await statuses()).toEqual([429, 401])
    const owner = await world.store.read(firstOwner)
    await replacePassword(world.store, world.system, String(owner?.id), password)
    expect(await statuses()).toEqual([429, 429])
  })

  test('500 wrong passwords block an account at all network addresses, except in known browsers', async () => {
    const cookie = browserOf(await send('/sign-in', { email, password }))
    const from = (count: number) => ({ from: `192.0.2.${Math.floor(count / 10)}` })
    await insertRefusals(email, 499)
    expect((await send('/sign-in', { email, password: 'wrong' }, from(0))).status).toBe(401)
    expect((await send('/sign-in', { email, password }, from(1))).status).toBe(429)
    expect(
      (await send('/sign-in', { email, password }, { ...from(2), headers: { ...sameOriginHeaders, cookie } })).status,
    ).toBe(303)
  })

  test('only consecutive wrong passwords count, separately for each user', async () => {
    const other = 'member@example.com'
    await setPassword(await addUser(other))
    const wrong = async (count: number) => {
      for (let tried = 0; tried < count; tried++) await send('/sign-in', { email, password: 'wrong' })
    }
    await wrong(9)
    expect((await send('/sign-in', { email, password })).status).toBe(303)
    await wrong(10)
    expect((await send('/sign-in', { email, password })).status).toBe(429)
    expect((await send('/sign-in', { email: other, password })).status).toBe(303)
  })
})

describe('signing in', () => {
  let email: string
  beforeEach(async () => {
    email = await begin(sqlite)
  })

  test('passwords are hashed at the cost that OWASP recommends', async () => {
    expect(realSystem.passwordCost).toEqual({ blocks: 32_768, size: 8, lanes: 3 })
  })

  test.runIf(isDeep)('a hash of the real cost accepts only the right password', async () => {
    const system = { ...world.system, passwordCost: realSystem.passwordCost }
    const service = deployService({ system })
    await service.seedPassword('of the owner')
    const { hash } = await world.store.read((tx) =>
      tx.db.selectFrom('passwords').select('hash').executeTakeFirstOrThrow(),
    )
    expect(hash).toMatch(/^scrypt\$32768\$8\$3\$[\w-]{20,}\$[0-9a-f]{64}$/)
    expect((await send('/sign-in', { email, password: 'another' }, { service })).status).toBe(401)
    expect((await send('/sign-in', { email, password: 'of the owner' }, { service })).status).toBe(303)
  })

  test('a password is stored as a hash with its own salt, and setting it again changes nothing', async () => {
    const hashes = async () => {
      const rows = await world.store.transaction(({ db }) => db.selectFrom('passwords').select('hash').execute())
      return rows.map(({ hash }) => hash)
    }
    await world.service.seedPassword('of the owner')
    await replacePassword(world.store, world.system, await addUser('member@example.com'), 'of the owner')
    const [first, second] = await hashes()
    for (const hash of [first, second]) expect(hash).toMatch(/^scrypt\$16\$8\$1\$[\w-]{20,}\$[0-9a-f]{64}$/)
    expect(first?.split('$')[4]).not.toBe(second?.split('$')[4])
    expect(first?.split('$')[5]).not.toBe(second?.split('$')[5])
    expect(await world.service.seedPassword(undefined)).toEqual({ email, password: null })
    expect((await world.service.seedPassword('of the owner')).password).toBe('of the owner')
    expect(new Set(await hashes())).toEqual(new Set([first, second]))
    await world.service.seedPassword(password)
    expect((await send('/sign-in', { email, password: 'of the owner' })).status).toBe(401)
    expect((await send('/sign-in', { email, password })).status).toBe(303)
  })

  test('a generated password has a cheap hash, but checking it takes as long as checking any other password', async () => {
    await world.store.transaction(({ db }) => db.deleteFrom('passwords').execute())
    const password = String((await world.service.seedPassword(undefined)).password)
    const [row] = await world.store.transaction(({ db }) => db.selectFrom('passwords').select('hash').execute())
    expect(row?.hash).toMatch(/^made\$[\w-]{22}\$[0-9a-f]{64}$/)
    const hashes = countHashes()
    expect((await send('/sign-in', { email, password: `${password}x` })).status).toBe(401)
    expect((await send('/sign-in', { email, password: password })).status).toBe(303)
    expect(hashes()).toBe(2)
    expect(await world.service.seedPassword(undefined)).toEqual({ email, password: null })
  })

  test('30 passwords a minute can be tried from one address, and 300 from all addresses together; a known browser is exempt, but only for its own user', async () => {
    const knownBrowser = {
      headers: { ...sameOriginHeaders, cookie: browserOf(await send('/sign-in', { email, password })) },
    }
    const accounts = ['a@example.com', 'b@example.com', 'c@example.com']
    for (const account of accounts) await setPassword(await addUser(account))
    const wrong = async (count: number, from: string) => {
      const statuses = []
      for (let tried = 0; tried < count; tried++) {
        const account = String(accounts[Math.floor(tried / 10) % accounts.length])
        statuses.push((await send('/sign-in', { email: account, password: 'x' }, { from })).status)
      }
      return statuses
    }
    expect(await wrong(31, '192.0.2.1')).toEqual([...Array(30).fill(401), 429])
    for (let client = 2; client < 10; client++) await wrong(30, `192.0.2.${client}`)
    // After these 28 tries, 299 of the 300 tries are used, including the first sign-in of this test.
    await wrong(28, '192.0.2.10')
    expect((await send('/sign-in', { email, password }, { from: '192.0.2.11' })).status).toBe(303)
    expect((await send('/sign-in', { email, password }, { from: '192.0.2.12' })).status).toBe(429)
    // A browser that is known for one account is not exempt from the limit for a different account.
    const another = { email: 'a@example.com', password }
    expect((await send('/sign-in', another, { from: '192.0.2.12', ...knownBrowser })).status).toBe(429)
    expect((await send('/sign-in', { email, password }, { from: '192.0.2.12', ...knownBrowser })).status).toBe(303)
  })

  test('an unknown email address gets the same answer as a wrong password, after the same work', async () => {
    await addUser('without-password@example.com')
    const answers: Answer[] = []
    const hashes = countHashes()
    for (const who of [email, 'nobody@example.com', 'without-password@example.com']) {
      answers.push(await send('/sign-in', { email: who, password: 'wrong' }))
    }
    expect(hashes()).toBe(3)
    const pageTexts = answers.map(({ status, text }) => [status, text.replace(/value="[^"]*"/g, '')])
    expect(pageTexts[1]).toEqual(pageTexts[0])
    expect(pageTexts[2]).toEqual(pageTexts[0])
    // Ten wrong passwords block an unknown account too.
    const tries = Array.from({ length: 10 }, () => send('/sign-in', { email: 'nobody@example.com', password: 'wrong' }))
    expect((await Promise.all(tries)).map(({ status }) => status).sort()).toEqual([...Array(9).fill(401), 429])
  })

  test('one-click sign-in is possible only in a sandbox with an address on this machine', async () => {
    const click = (sending?: Sending) => send('/sign-in', { as: 'owner' }, sending)
    expect(await canOpen(await click())).toBe(true)
    const elsewhere = 'https://payments.example'
    const foreignHeaders = { origin: elsewhere, 'sec-fetch-site': 'same-origin' }
    const refused = [
      await click({ service: deployService({ environment: 'production' }) }),
      await click({ service: deployService({ publicUrl: () => elsewhere }), headers: foreignHeaders }),
      await click({
        service: deployService({ publicUrl: () => elsewhere }),
        headers: foreignHeaders,
        origin: elsewhere,
      }),
      await click({ origin: 'http://sandbox.test', headers: { ...sameOriginHeaders, origin: 'http://sandbox.test' } }),
    ]
    for (const answer of refused) expect([answer.status, cookieOf(answer)]).toEqual([403, ''])
  })

  test('one-click sign-in works only for clients on this machine that use a host name of this machine', async () => {
    const body = new URLSearchParams({ as: 'owner' })
    const press = async (origin: string, caller?: Caller) => {
      const headers = { origin, 'sec-fetch-site': 'same-origin' }
      return (await world.service.fetch(new Request(`${origin}/sign-in`, { method: 'POST', body, headers }), caller))
        .status
    }
    const remote = { local: false, address: '192.0.2.1' }
    const local = { local: true, address: '127.0.0.1' }
    const statuses = async (origin: string) => [
      origin,
      await press(origin, remote),
      await press(origin, local),
      await press(origin),
    ]
    for (const origin of [address, 'http://localhost:4010', 'http://[::1]:4010', 'http://127.8.9.10'])
      expect(await statuses(origin)).toEqual([origin, 403, 303, 303])
    for (const origin of ['http://sandbox.test', 'http://localhost.evil.example', 'http://192.0.2.1:4010'])
      expect(await statuses(origin)).toEqual([origin, 403, 403, 403])
  })

  test('replacing the password ends the user’s session', async () => {
    const answer = await send('/sign-in', { as: 'owner' })
    expect(await canOpen(answer)).toBe(true)
    const owner = await world.store.transaction(firstOwner)
    await replacePassword(world.store, world.system, String(owner?.id), password)
    expect(await canOpen(answer)).toBe(false)
  })

  test('the session cookie is hidden from scripts, other sites and other hosts', async () => {
    const here = cookieOf(await send('/sign-in', { email, password })).split('; ')
    expect(here.slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax'])
    const service = deployService({ publicUrl: () => 'https://payments.example' })
    const headers = { origin: 'https://payments.example', 'sec-fetch-site': 'same-origin' }
    const secure = cookieOf(await send('/sign-in', { email, password }, { service, headers })).split('; ')
    expect(secure[0]).toMatch(/^__Host-payments_session=/)
    expect(secure.slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax', 'Secure'])
  })

  test('a session lasts for twelve hours', async () => {
    const answer = await send('/sign-in', { email, password })
    world.system.pass(12 * 60 * minuteMs - 1)
    expect(await canOpen(answer)).toBe(true)
    world.system.pass(1)
    expect(await canOpen(answer)).toBe(false)
  })

  test('signing out ends the session, and a copy of its cookie is useless', async () => {
    const browser = openBrowser(world)
    await browser.submit(await browser.get('/sign-in'), { as: 'owner' }, '/sign-in')
    const page = await browser.get('/connections')
    const oldCookies = new Map(browser.cookies)
    const token =
      /action="\/sign-out">\s*<input type="hidden" name="formToken" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    await browser.submit(page, { formToken: token }, '/sign-out')
    const thief = openBrowser(world)
    for (const [name, value] of oldCookies) thief.cookies.set(name, value)
    expect(new URL((await thief.get('/connections')).url).pathname).toBe('/sign-in')
  })

  test('signing in again ends the earlier session of the same browser', async () => {
    const first = await send('/sign-in', { email, password })
    const cookie = cookieOf(first).split(';')[0] ?? ''
    const second = await send('/sign-in', { email, password }, { headers: { ...sameOriginHeaders, cookie } })
    expect([await canOpen(first), await canOpen(second)]).toEqual([false, true])
  })

  test('a form of another site cannot sign a person in', async () => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: address, 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'http://127.0.0.1:4011' },
      {},
    ]) {
      for (const fields of [{ email, password }, { as: 'owner' }]) {
        const answer = await send('/sign-in', fields as Record<string, string>, { headers })
        expect([headers, answer.status, cookieOf(answer)]).toEqual([headers, 403, ''])
      }
    }
  })

  test.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/oauth/consent/../../evil',
    '/oauth/consent/abc?next=//evil.example',
    'javascript:alert(1)',
    '/sign-out',
    '/connections\r\nSet-Cookie: a=b',
    '/oauth/device?user_code=ABCD-EFGH&x=1',
  ])('a sign-in leads to the console instead of %j', async (next) => {
    expect((await send('/sign-in', { email, password, next })).location).toBe('/console')
    const page = await openBrowser(world).get(`/sign-in?next=${encodeURIComponent(next)}`)
    expect(page.text).toContain('name="next" value="/console"')
  })

  test.each(['/connections', '/oauth/consent/V1StGXR8_Z5jdHi6B-myT', '/oauth/device?user_code=ABCD-EFGH'])(
    'a sign-in leads to %s',
    async (next) => {
      expect((await send('/sign-in', { email, password, next })).location).toBe(next)
    },
  )
})
