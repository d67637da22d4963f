import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { signInWithBrowser } from '../../src/auth/browser-sign-in.ts'
import { signInWithDevice } from '../../src/auth/device-sign-in.ts'
import { signOut } from '../../src/auth/sign-out.ts'
import { fakeSystem } from '../support/fake-system.ts'
import type { PlainProviderOptions } from './plain-provider.ts'
import { claimsOf, createSignInWorld, type SignInWorld } from './world.ts'

let world: SignInWorld

afterEach(() => world.close())

const startWorld = async (options?: PlainProviderOptions) => {
  world = await createSignInWorld(options)
  return world
}

describe('signing in with a browser', () => {
  test('the sign-in stores tokens for this API only, with all its scopes, and then shows a page', async () => {
    await startWorld()
    let opened = ''
    let page: Promise<Response> | undefined
    await signInWithBrowser(world, (address) => {
      opened = address.href
      page = world.person.signIn(opened).then((callback) => fetch(callback))
    })
    const parameters = Object.fromEntries(new URL(opened).searchParams)
    expect(parameters).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: world.baseUrl,
      scope: 'cards:read cards:agent offline_access',
      prompt: 'consent',
      redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
    })
    const login = await world.stored()
    expect(login).toMatchObject({ issuer: world.baseUrl, resource: world.baseUrl, clientId: parameters.client_id })
    expect(login.refreshToken).toMatch(/^[\w-]{20,}$/)
    expect(login.expiresAtMs - world.system.now()).toBe(900_000)
    expect(claimsOf(login.accessToken)).toMatchObject({ aud: world.baseUrl, scope: 'cards:read cards:agent' })

    const answer = await page
    expect(answer?.status).toBe(200)
    expect(await answer?.text()).toContain('You can close this window')
    expect(Object.fromEntries(answer?.headers ?? [])).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    await expect(fetch(parameters.redirect_uri ?? '')).rejects.toThrow()
  })

  test("a sign-in requests all scopes that the server lists, except those for the person's identity", async () => {
    await startWorld({ serverMetadata: { scopes_supported: ['openid', 'email', 'offline_access', 'customers:write'] } })
    let opened = ''
    await expect(
      signInWithBrowser({ ...world, system: fakeSystem() }, (address) => {
        opened = address.href
      }),
    ).rejects.toThrow()
    expect(new URL(opened).searchParams.get('scope')).toBe('cards:read cards:agent offline_access customers:write')
  })

  test('the client is registered once at a server, and again only if the server has deleted it', async () => {
    const { provider } = await startWorld()
    await world.signIn()
    await world.signIn()
    expect(provider.requestCount('/reg')).toBe(1)
    const { clientId } = await world.stored()
    await provider.forgetClient(clientId)
    await world.signIn()
    expect(provider.requestCount('/reg')).toBe(2)
    expect((await world.stored()).clientId).not.toBe(clientId)
  })

  test('the callback refuses requests that are not the expected answer, and the sign-in still succeeds', async () => {
    await startWorld()
    const refused: [number, string][] = []
    await world.signIn(async (callback) => {
      const call = async (change: (address: URL) => void, headers: Record<string, string> = {}, method = 'GET') => {
        const address = new URL(callback)
        change(address)
        refused.push(await sendRequest(address, headers, method))
      }
      await call((address) => address.searchParams.set('state', 'another'))
      await call((address) => address.searchParams.delete('state'))
      await call((address) => {
        address.search = '?error=access_denied'
      })
      await call((address) => {
        address.pathname = '/other'
      })
      await call(() => {}, { Host: `attacker.example:${callback.port}` })
      await call(() => {}, { Host: `localhost:${callback.port}` })
      await call(() => {}, {}, 'POST')
      return undefined
    })
    expect(refused.map(([status]) => status)).toEqual([400, 400, 400, 404, 404, 404, 404])
    expect(refused.map(([, text]) => text).join()).not.toContain('You are signed in')
    expect((await world.stored()).accessToken).toBeTruthy()
  })

  const tampered: [string, (callback: URL) => void, RegExp][] = [
    ['without iss', (callback) => callback.searchParams.delete('iss'), /"iss" \(issuer\) missing/],
    ['from another issuer', (callback) => callback.searchParams.set('iss', 'https://other.example'), /"iss"/],
    ['with two iss parameters', (callback) => callback.searchParams.append('iss', 'https://other.example'), /iss/],
    ['with a wrong code', (callback) => callback.searchParams.set('code', 'x'.repeat(43)), /no longer valid/],
    [
      'that reports a refusal',
      (callback) => {
        callback.searchParams.delete('code')
        callback.searchParams.set('error', 'access_denied')
        callback.searchParams.set('error_description', 'no\n\u001b[31mpay sk_ntl_sandbox_0123456789abcdef')
      },
      /^The person refused the sign-in: access_denied \(no \[31mpay sk_ntl_sandbox_\[masked\]\)\.$/,
    ],
  ]
  test.each(tampered)('an answer %s is rejected', async (_, change, message) => {
    await startWorld()
    let page: Promise<Response> | undefined
    const attempt = world.signIn(async (callback) => {
      change(callback)
      page = fetch(callback)
      await page
      return `${world.baseUrl}/jwks`
    })
    await expect(attempt).rejects.toThrow(message)
    expect((await page)?.status).toBe(400)
    expect((await world.store.read()).logins).toEqual({})
  })

  test('a connection that sends nothing does not delay the sign-in', async () => {
    await startWorld()
    let silent: Socket | undefined
    const { page } = await world.signIn(async (callback) => {
      silent = connect(Number(callback.port), callback.hostname)
      await once(silent, 'connect')
      return undefined
    })
    expect(page?.status).toBe(200)
    if (silent?.closed === false) await once(silent, 'close')
  })

  test('the sign-in fails with a one-line error if the person refuses', async () => {
    await startWorld()
    const attempt = signInWithBrowser(world, (address) => {
      void world.person.signIn(address.href, 'abort').then((callback) => fetch(callback))
    })
    await expect(attempt).rejects.toThrow(/^The person refused the sign-in.*access_denied \(The person said no\)\.$/)
  })

  test('the sign-in fails after five minutes without an answer', async () => {
    await startWorld()
    const unanswered = { ...world, system: fakeSystem() }
    await expect(signInWithBrowser(unanswered, () => {})).rejects.toThrow('Nobody signed in within 5 minutes')
    expect(unanswered.system.slept).toEqual([300_000])
  })
})

describe('invalid metadata and redirects', () => {
  const cases: [string, PlainProviderOptions, RegExp][] = [
    [
      "another API's address",
      { resourceMetadata: { resource: 'https://other.example' } },
      /calls itself "https:\/\/other\.example"/,
    ],
    [
      'an authorization server without https',
      { resourceMetadata: { authorization_servers: ['http://auth.example'] } },
      /its address must use https/,
    ],
    [
      'no authorization server',
      { resourceMetadata: { authorization_servers: [] } },
      /does not say how to sign in.*PAYMENTS_KEY/,
    ],
    ['another issuer', { serverMetadata: { issuer: 'https://other.example' } }, /issuer/],
    [
      'an issuer that differs only by a slash at its end',
      { serverMetadata: { issuer: 'SAME/' } },
      /states a different issuer/,
    ],
    ['no support for S256', { serverMetadata: { code_challenge_methods_supported: ['plain'] } }, /PKCE/],
    [
      'a token endpoint without https',
      { serverMetadata: { token_endpoint: 'http://auth.example/token' } },
      /not https/,
    ],
    [
      'a sign-in page without https',
      { serverMetadata: { authorization_endpoint: 'file:///etc/passwd' } },
      /authorization_endpoint.*not https/,
    ],
    ['no registration endpoint', { serverMetadata: { registration_endpoint: undefined } }, /does not register clients/],
  ]
  test.each(cases)('metadata with %s is refused', async (_, options, message) => {
    if (options.serverMetadata?.issuer === 'SAME/') {
      await startWorld({ intercept: () => false, serverMetadata: options.serverMetadata })
      options.serverMetadata.issuer = `${world.baseUrl}/`
    } else await startWorld(options)
    const attempt = signInWithBrowser(world, () => expect.unreachable('The program asked the person to sign in'))
    await expect(attempt).rejects.toThrow(message)
    expect(world.provider.requestCount('/reg')).toBe(0)
  })

  test('a redirect from the token endpoint is not followed', async () => {
    await startWorld({
      intercept: (request, response) => {
        if (request.url !== '/token') return false
        response.writeHead(307, { Location: '/elsewhere' }).end()
        return true
      },
    })
    await expect(world.signIn()).rejects.toThrow(/did not answer as an authorization server does: .* 307\.$/)
    expect(world.provider.requestCount('/token')).toBe(1)
    expect(world.provider.requestCount('/elsewhere')).toBe(0)
  })
})

describe('signing in with a code on another device', () => {
  test('the login is stored once the person has allowed the device', async () => {
    await startWorld()
    const signing = deviceSignIn('confirm', 3)
    await signing
    expect(claimsOf((await world.stored()).accessToken)).toMatchObject({ aud: world.baseUrl })
    expect((await world.stored()).refreshToken).toBeTruthy()
    expect(world.provider.tokenRequests.map(({ error }) => error)).toEqual([
      'authorization_pending',
      'authorization_pending',
      undefined,
    ])
  })

  test('the sign-in fails if the person refuses', async () => {
    await startWorld()
    await expect(deviceSignIn('abort', 1)).rejects.toThrow(/^The person refused the sign-in/)
  })

  test('the sign-in fails if nobody enters the code in time', async () => {
    await startWorld()
    await expect(signInWithDevice(world, () => {})).rejects.toThrow('The code was not entered in time')
    expect(world.provider.tokenRequests.length).toBeLessThanOrEqual(180)
  })

  test('the program polls less often if the server asks it to slow down', async () => {
    let refusals = 0
    await startWorld({
      intercept: (request, response) => {
        if (request.url !== '/token' || refusals === 2) return false
        refusals++
        response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":"slow_down"}')
        return true
      },
    })
    const before = world.system.elapsed()
    await deviceSignIn('confirm', 1)
    expect(world.system.elapsed() - before).toBe(5_000 + 10_000 + 15_000)
  })

  /** Signs in with a device code. The person enters the code after the program has waited `afterPauses` times. */
  async function deviceSignIn(decision: 'confirm' | 'abort', afterPauses: number): Promise<void> {
    let pauses = 0
    await signInWithDevice(world, ({ address, userCode }) => {
      world.onPause = async () => {
        pauses++
        if (pauses === afterPauses) await world.person.enterCode(address, userCode, decision)
      }
    })
  }
})

describe('signing out', () => {
  test('signing out revokes the tokens at the server and deletes them on this machine', async () => {
    await startWorld()
    await world.signIn()
    const { refreshToken, clientId } = await world.stored()
    expect(await signOut(world)).toEqual({ kind: 'revoked' })
    expect((await world.store.read()).logins).toEqual({})
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: String(refreshToken),
      client_id: clientId,
    })
    expect((await fetch(`${world.baseUrl}/token`, { method: 'POST', body })).status).toBe(400)
    expect(await signOut(world)).toEqual({ kind: 'none' })
  })

  test('signing out deletes the login even if the server cannot be reached, and returns the reason', async () => {
    await startWorld()
    await world.signIn()
    const unreachable = async () => {
      throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' })
    }
    const ended = await signOut({ ...world, fetch: unreachable })
    expect(ended).toEqual({ kind: 'forgotten', reason: expect.stringContaining("Can't reach 127.0.0.1:") })
    expect((await world.store.read()).logins).toEqual({})
  })
})

/** Sends a request with `node:http`, because `fetch` cannot set the Host header. */
function sendRequest(address: URL, headers: Record<string, string>, method: string): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(address, { headers, method }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve([response.statusCode ?? 0, text])
    })
    sent.on('error', reject).end()
  })
}
