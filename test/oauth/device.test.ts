import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sqlite } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Application, createApplication, mcpResource, signInIfAsked } from './application.ts'
import { address, type Browser, openBrowser, type Page } from './browser.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

interface DeviceCode {
  device_code: string
  user_code: string
  verification_uri: string
  verification_uri_complete: string
  expires_in: number
}

describe('signing in on a device without a browser', () => {
  let world: World
  let device: Application

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    world = await createWorld(sqlite, { system: dateSystem() })
    device = await createApplication(world, {
      client_name: 'A device',
      redirect_uris: [],
      response_types: [],
      grant_types: [deviceGrant, 'refresh_token'],
    })
  })
  afterEach(async () => {
    vi.useRealTimers()
    await world.drop()
  })

  const post = async (path: string, form: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: device.client.client_id, ...form })
    const response = await world.service.fetch(new Request(`${address}${path}`, { method: 'POST', body }))
    return { status: response.status, json: (await response.json()) as Record<string, string> }
  }
  const begin = async (form: Record<string, string> = {}) =>
    (await post('/oauth/device/authorize', { resource: mcpResource, ...form })).json as unknown as DeviceCode
  const requestToken = ({ device_code }: DeviceCode, form: Record<string, string> = {}) =>
    post('/oauth/token', { grant_type: deviceGrant, device_code, ...form })
  /** Polls for the token once more, after the shortest allowed interval. */
  const poll = (code: DeviceCode, form?: Record<string, string>) => {
    vi.setSystemTime(Date.now() + 5_000)
    return requestToken(code, form)
  }

  /** Acts as a person who enters the code and confirms the device. Returns the page that asks for permission. */
  const enterCode = async (browser: Browser, { verification_uri, user_code }: DeviceCode) => {
    const confirmationPage = await browser.submit(await browser.get(verification_uri), { user_code })
    expect(confirmationPage.text).toContain('Is this your device?')
    expect(confirmationPage.text).toContain(user_code)
    return signInIfAsked(browser, await browser.submit(confirmationPage, { confirm: 'yes' }))
  }
  const decide = async (browser: Browser, page: Page, decision: 'allow' | 'deny') => {
    const agent = /name="agent" value="(agt_[0-9a-f]{32})"/.exec(page.text)?.[1] ?? ''
    return browser.submit(page, { agent, agentName: '', decision }, new URL(page.url).pathname)
  }

  test('a person connects a device in their own browser, and the device then acts as the agent', async () => {
    // The scope agents:operate is an alias of cards:agent.
    const code = await begin({ scope: 'agents:operate' })
    expect(code).toMatchObject({
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${address}/oauth/device`,
      verification_uri_complete: `${address}/oauth/device?user_code=${code.user_code}`,
      expires_in: 600,
      interval: 5,
    })
    expect(await poll(code)).toMatchObject({ status: 400, json: { error: 'authorization_pending' } })
    const browser = openBrowser(world)
    const page = await enterCode(browser, code)
    expect(page.text).toContain('A device')
    expect(await poll(code)).toMatchObject({ status: 400, json: { error: 'authorization_pending' } })
    expect((await decide(browser, page, 'allow')).text).toContain('is connected')
    const { status, json } = await poll(code)
    expect([status, json.scope]).toEqual([200, 'cards:agent'])
    const { agentId } = await world.whoami()
    expect(await world.whoami(json.access_token)).toMatchObject({ agentId, credentialKind: 'oauth_access_token' })
    const refresh = { grant_type: 'refresh_token', refresh_token: String(json.refresh_token) }
    expect((await post('/oauth/token', refresh)).status).toBe(200)
  })

  test('a device that requests no scopes gets the default ones', async () => {
    const code = await begin()
    const browser = openBrowser(world)
    await decide(browser, await enterCode(browser, code), 'allow')
    expect((await poll(code)).json.scope).toBe('payments:read payments:write cards:agent customers:read')
  })

  test('polling gets access_denied if the person refuses permission or does not recognize the device', async () => {
    const browser = openBrowser(world)
    const denied = await begin()
    const denial = await decide(browser, await enterCode(browser, denied), 'deny')
    expect(denial.text).toContain('Connect a device')
    expect(await poll(denied)).toMatchObject({ status: 400, json: { error: 'access_denied' } })
    const stopped = await begin()
    const confirmationPage = await browser.submit(await browser.get(stopped.verification_uri), {
      user_code: stopped.user_code,
    })
    await browser.submit(confirmationPage, { abort: 'yes' })
    expect(await poll(stopped)).toMatchObject({ status: 400, json: { error: 'access_denied' } })
  })

  test('polling with an expired code gets expired_token, and a person can no longer enter the code', async () => {
    const code = await begin()
    vi.setSystemTime(Date.now() + 601_000)
    expect(await poll(code)).toMatchObject({ status: 400, json: { error: 'expired_token' } })
    const browser = openBrowser(world)
    const page = await browser.submit(await browser.get(code.verification_uri), { user_code: code.user_code })
    expect(page.text).toContain('<title>Error: Connect a device')
  })

  test('the device code and the user code each work only once', async () => {
    const code = await begin()
    const browser = openBrowser(world)
    await decide(browser, await enterCode(browser, code), 'allow')
    const again = await browser.submit(await browser.get(code.verification_uri), { user_code: code.user_code })
    expect(again.text).toContain('<title>Error: Connect a device')
    const first = await poll(code)
    expect(first.status).toBe(200)
    expect(await poll(code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } })
    // A device code that is presented twice may have been stolen, so the access token that it was exchanged for is
    // revoked.
    expect((await world.get('/whoami', { key: String(first.json.access_token) })).status).toBe(401)
  })

  test.each(['BBBB-BBBB', '', "' or 1=1", 'hashed:x', 'B'.repeat(500)])(
    'entering the unknown code %j leads to an error',
    async (user_code) => {
      await begin()
      const browser = openBrowser(world)
      const page = await browser.submit(await browser.get('/oauth/device'), { user_code })
      expect(page.text).toContain('<title>Error: Connect a device')
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    },
  )

  test('a code may be typed in lower case without a hyphen; opening a link with the code does not connect the device yet', async () => {
    const code = await begin()
    const browser = openBrowser(world)
    const user_code = ` ${code.user_code.replace('-', '').toLowerCase()} `
    const typed = await browser.submit(await browser.get(code.verification_uri), { user_code })
    expect(typed.text).toContain('Is this your device?')
    await openBrowser(world).get(code.verification_uri_complete)
    expect(await poll(code)).toMatchObject({ json: { error: 'authorization_pending' } })
  })

  test('a form is refused if another browser sends it, or if its xsrf token is missing or wrong', async () => {
    const code = await begin()
    const [browser, other] = [openBrowser(world), openBrowser(world)]
    await other.get(code.verification_uri)
    const form = await browser.get(code.verification_uri)
    const token = /name="xsrf" value="([^"]+)"/.exec(form.text)?.[1] ?? ''
    expect(token).not.toBe('')
    for (const [sender, xsrf] of [
      [other, token],
      [openBrowser(world), token],
      [browser, ''],
      [browser, 'x'.repeat(token.length)],
    ] as const) {
      const page = await sender.submit(form, { user_code: code.user_code, xsrf, confirm: 'yes' })
      expect(page.text).not.toContain('Is this your device?')
      expect(page.text).toContain('<title>Error: Connect a device')
    }
    expect(await poll(code)).toMatchObject({ json: { error: 'authorization_pending' } })
  })

  test.each([
    [{ device_code: 'd'.repeat(43) }, 400, 'invalid_grant'],
    [{ device_code: 'hashed:d' }, 400, 'invalid_grant'],
    [{ device_code: '' }, 400, 'invalid_request'],
    [{ client_id: 'unknown' }, 401, 'invalid_client'],
  ])('polling with %j gets status %i and the error %s', async (form, status, error) => {
    expect(await poll(await begin(), form)).toMatchObject({ status, json: { error } })
  })

  test('only the device that got a code can poll with it; other kinds of clients get no code', async () => {
    const code = await begin()
    const { client } = await createApplication(world, {
      redirect_uris: [],
      response_types: [],
      grant_types: [deviceGrant],
    })
    expect(await poll(code, { client_id: client.client_id })).toMatchObject({ json: { error: 'invalid_grant' } })
    const host = (await createApplication(world)).client.client_id
    const begun = await post('/oauth/device/authorize', { client_id: host })
    expect(begun).toMatchObject({ status: 400, json: { error: 'invalid_request' } })
    expect(await poll(code, { client_id: host })).toMatchObject({ status: 400 })
  })

  test('a device that polls too fast gets slow_down, and gets its tokens after a pause', async () => {
    const [code, other] = [await begin(), await begin()]
    const pending = { status: 400, json: { error: 'authorization_pending' } }
    const tooFast = { status: 400, json: { error: 'slow_down' } }
    expect(await requestToken(code)).toMatchObject(pending)
    for (let count = 0; count < 3; count++) {
      vi.setSystemTime(Date.now() + 1_000)
      expect(await requestToken(code)).toMatchObject(tooFast)
    }
    expect(await requestToken(other)).toMatchObject(pending)
    vi.setSystemTime(Date.now() + 2_000)
    expect(await requestToken(code)).toMatchObject(pending)
    const browser = openBrowser(world)
    await decide(browser, await enterCode(browser, code), 'allow')
    expect(await requestToken(code)).toMatchObject(tooFast)
    expect(await poll(code)).toMatchObject({ status: 200 })
  })

  test('one IP address can try at most 60 codes a minute, and only with the xsrf token of the form', async () => {
    const code = await begin()
    const serviceFrom = (address: string) => ({
      service: {
        ...world.service,
        fetch: (request: Request) => world.service.fetch(request, { local: true, address }),
      },
    })
    const [guesser, browser] = [openBrowser(serviceFrom('192.0.2.1')), openBrowser(serviceFrom('192.0.2.2'))]
    const guess = async (xsrf?: string) => {
      const form = await guesser.get('/oauth/device')
      return guesser.submit(form, { user_code: 'BBBB-BBBB', ...(xsrf === undefined ? {} : { xsrf }) })
    }
    for (let count = 0; count < 59; count++) expect((await guess('guess')).status).toBe(400)
    vi.setSystemTime(Date.now() + 61_000)
    for (let count = 0; count < 60; count++) expect((await guess()).text).toContain('There is no such code')
    const refused = await guess()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
    expect(refused.text).toContain('Too many codes were entered')
    const page = await enterCode(browser, code)
    expect((await decide(browser, page, 'allow')).text).toContain('is connected')
    vi.setSystemTime(Date.now() + 61_000)
    expect((await guess()).text).toContain('There is no such code')
  })
})
