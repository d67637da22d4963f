import { createPublicKey } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sqlite } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Application, connect, transport } from './application.ts'
import { address } from './browser.ts'
import { createForger, type Forger, foreignKey, unsigned } from './forge.ts'

const nowSeconds = () => Math.floor(Date.now() / 1000)
const hmacKey = (secret: string) => ({ alg: 'HS256', key: new TextEncoder().encode(secret) })
const publicPem = ({ ownKey: { d: _, ...jwk } }: Forger) =>
  String(createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' }))

type Make = (forger: Forger) => string | Promise<string>

/** Tokens that both this service and oauth4webapi, a strict resource server, refuse. */
const refusedByBoth: Record<string, Make> = {
  'alg none': ({ claims, ownKey }) => unsigned({ alg: 'none', typ: 'at+jwt', kid: ownKey.kid }, claims),
  'alg none and a signature': ({ claims, ownKey }) =>
    unsigned({ alg: 'none', typ: 'at+jwt', kid: ownKey.kid }, claims, 'AA'),
  'alg NONE': ({ claims, ownKey }) => unsigned({ alg: 'NONE', typ: 'at+jwt', kid: ownKey.kid }, claims),
  'no alg': ({ claims, ownKey }) => unsigned({ typ: 'at+jwt', kid: ownKey.kid }, claims, 'AA'),
  'an HS256 signature made with the public PEM': (forger) => forger.sign({}, {}, hmacKey(publicPem(forger))),
  'an HS256 signature made with the public JWK': (forger) => {
    const { d: _, ...jwk } = forger.ownKey
    return forger.sign({}, {}, hmacKey(JSON.stringify(jwk)))
  },
  'an HS256 signature and an empty kid': (forger) => forger.sign({}, { kid: '' }, hmacKey(String(forger.ownKey.x))),
  'an RS256 signature by another key': async (forger) => forger.sign({}, {}, await foreignKey('RS256')),
  'an ES256 signature by another key': async (forger) => forger.sign({}, {}, await foreignKey('ES256')),
  'a signature by another key, which is in the token header': async (forger) => {
    const key = await foreignKey('ES256')
    return forger.sign({}, { jwk: key.jwk }, key)
  },
  'a signature by another key, whose URL is in the token header': async (forger) =>
    forger.sign({}, { jku: 'https://evil.example/keys', kid: 'evil' }, await foreignKey('ES256')),
  'an unknown kid': (forger) => forger.sign({}, { kid: 'unknown' }),
  'an unknown critical header': ({ claims, ownKey }) =>
    unsigned({ alg: 'ES256', typ: 'at+jwt', kid: ownKey.kid, crit: ['evil'], evil: true }, claims, 'A'.repeat(86)),
  'a changed payload and the old signature': async (forger) => {
    const [header, , signature] = (await forger.sign()).split('.')
    const payload = Buffer.from(JSON.stringify({ ...forger.claims, scope: 'account:read' })).toString('base64url')
    return [header, payload, signature].join('.')
  },
  'a signature of zeros': async (forger) => (await forger.sign()).replace(/[^.]+$/, 'A'.repeat(86)),
  'no signature': async (forger) => (await forger.sign()).replace(/[^.]+$/, ''),
  'an expiry in the past': (forger) => forger.sign({ exp: nowSeconds() - 1 }),
  'an expiry at the current second': (forger) => forger.sign({ exp: nowSeconds() }),
  'no expiry': (forger) => forger.sign({ exp: undefined }),
  'an expiry that is not a number': (forger) => forger.sign({ exp: '9999999999' }),
  'a start of validity in a minute': (forger) => forger.sign({ nbf: nowSeconds() + 60 }),
  'no time of issue': (forger) => forger.sign({ iat: undefined }),
  'another audience': (forger) => forger.sign({ aud: 'https://elsewhere.example' }),
  'an audience with an extra slash': (forger) => forger.sign({ aud: `${address}/` }),
  'an audience below /mcp': (forger) => forger.sign({ aud: `${address}/mcp/other` }),
  'no audience': (forger) => forger.sign({ aud: undefined }),
  'another issuer': (forger) => forger.sign({ iss: 'https://elsewhere.example' }),
  'an issuer with an extra slash': (forger) => forger.sign({ iss: `${address}/` }),
  'no issuer': (forger) => forger.sign({ iss: undefined }),
  'the type of an ID token': (forger) => forger.sign({}, { typ: 'JWT' }),
  'no type': (forger) => forger.sign({}, { typ: undefined }),
  'no client': (forger) => forger.sign({ client_id: undefined }),
  'no user': (forger) => forger.sign({ sub: undefined }),
}

/** Tokens that oauth4webapi accepts but this service refuses, with the reasons. */
const refusedHereOnly: Record<string, { make: Make; why: string }> = {
  'two audiences of this service': {
    make: (forger) => forger.sign({ aud: [address, `${address}/mcp`] }),
    why: 'Every token of the service has exactly one audience.',
  },
  'an additional foreign audience': {
    make: (forger) => forger.sign({ aud: [`${address}/mcp`, 'https://elsewhere.example'] }),
    why: 'The foreign server could use the token here.',
  },
  'a time of issue in the future': {
    make: (forger) => forger.sign({ iat: nowSeconds() + 60, exp: nowSeconds() + 120 }),
    why: 'The service never issues a token with a future date.',
  },
  'a longer lifetime than any token of the service': {
    make: (forger) => forger.sign({ iat: nowSeconds() - 3600, exp: nowSeconds() + 3600 }),
    why: 'No token of the service is valid for two hours.',
  },
  'no grant': {
    make: (forger) => forger.sign({ grant_id: undefined }),
    why: 'Only this service requires a grant.',
  },
  'an unknown grant': {
    make: (forger) => forger.sign({ grant_id: `ogr_${'0'.repeat(32)}` }),
    why: 'Each request checks that the grant exists.',
  },
  'the grant of another user': {
    make: (forger) => forger.sign({ sub: `usr_${'0'.repeat(32)}` }),
    why: 'A token belongs to the same user as its grant.',
  },
  'the grant of another application': {
    make: (forger) => forger.sign({ client_id: `ocl_${'0'.repeat(32)}` }),
    why: 'A token belongs to the same application as its grant.',
  },
}

/** Valid tokens. They prove that the other tokens are refused only for their defects. */
const valid: Record<string, Make> = {
  'unchanged values': (forger) => forger.sign(),
  'the full media type as its type': (forger) => forger.sign({}, { typ: 'application/at+jwt' }),
  'a start of validity a minute ago': (forger) => forger.sign({ nbf: nowSeconds() - 60 }),
}

describe('access tokens, checked by this service and by oauth4webapi', () => {
  let world: World
  let forger: Forger
  let application: Application
  let idToken: string

  beforeAll(async () => {
    world = await createWorld(sqlite, { system: dateSystem() })
    const { tokens, application: connected } = await connect(world, { scope: 'openid cards:agent' })
    application = connected
    idToken = (tokens as unknown as { id_token: string }).id_token
    forger = await createForger(world, tokens.access_token)
  })
  afterAll(() => world.drop())

  const accepts = async (token: string) => (await world.get('/whoami', { key: token })).status === 200

  /** Returns whether oauth4webapi, as a resource server with this service's published keys, accepts a token. */
  const oauth4webapiAccepts = async (token: string) => {
    const request = new Request(`${address}/mcp`, { headers: { authorization: `Bearer ${token}` } })
    const server = { ...application.server, jwks_uri: `${address}/oauth/jwks` }
    const exact = { ...transport(world), [oauth.clockTolerance]: 0 }
    return oauth.validateJwtAccessToken(server, request, `${address}/mcp`, exact).then(
      () => true,
      () => false,
    )
  }

  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    world.service.fetch(new Request(`${address}${path}`, { method: 'POST', body: new URLSearchParams(form), headers }))

  test.each(Object.entries(valid))('both accept a token with %s', async (_name, make) => {
    const token = await make(forger)
    expect([await accepts(token), await oauth4webapiAccepts(token)]).toEqual([true, true])
  })

  test.each(Object.entries(refusedByBoth))('both refuse a token with %s', async (_name, make) => {
    const token = await make(forger)
    expect([await accepts(token), await oauth4webapiAccepts(token)]).toEqual([false, false])
  })

  test.each(Object.entries(refusedHereOnly))('only this service refuses a token with %s', async (_name, { make }) => {
    const token = await make(forger)
    expect([await accepts(token), await oauth4webapiAccepts(token)]).toEqual([false, true])
  })

  test('the API, the token exchange and the introspection endpoint refuse every forged token', async () => {
    const more = Object.fromEntries(Object.entries(refusedHereOnly).map(([name, { make }]) => [name, make]))
    const sent: [name: string, token: string][] = []
    for (const [name, make] of Object.entries({ ...refusedByBoth, ...more })) {
      const token = await make(forger)
      sent.push([name, token])
      const apiAnswer = await world.get('/whoami', { key: token })
      expect(apiAnswer, name).toMatchObject({ status: 401, json: { errors: [{ code: 'unauthenticated' }] } })
      expect(apiAnswer.headers.get('www-authenticate'), name).toBe(
        `Bearer error="invalid_token", scope="payments:read payments:write cards:agent customers:read", resource_metadata="${address}/.well-known/oauth-protected-resource"`,
      )
      const exchange = {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }
      expect((await post('/oauth/token', exchange)).status, name).toBe(400)
      const introspection = await post('/oauth/introspect', { token }, { authorization: `Bearer ${world.apiKey}` })
      expect(await introspection.json(), name).toEqual({ active: false })
    }
    const logged = world.logged.join('\n')
    expect(sent.filter(([, token]) => logged.includes(token)).map(([name]) => name)).toEqual([])
  })

  test('an ID token is not accepted as an access token', async () => {
    expect(idToken.split('.')).toHaveLength(3)
    expect([await accepts(idToken), await oauth4webapiAccepts(idToken)]).toEqual([false, false])
  })

  test('an access token is accepted only as a bearer token in the Authorization header', async () => {
    const token = await forger.sign()
    const statuses = async (path: string, headers: Record<string, string>) =>
      (await world.service.fetch(new Request(`${address}${path}`, { headers }))).status
    expect(await statuses('/whoami', { authorization: `bearer ${token}` })).toBe(200)
    expect(await statuses(`/whoami?access_token=${token}`, {})).toBe(401)
    expect(await statuses('/whoami', { cookie: `access_token=${token}; payments_session=${token}` })).toBe(401)
    expect(await statuses('/whoami', { authorization: `Basic ${btoa(`token:${token}`)}` })).toBe(401)
    expect(await statuses('/whoami', { authorization: `DPoP ${token}` })).toBe(401)
    expect(await statuses('/whoami', { authorization: `Bearer ${token}, Bearer ${token}` })).toBe(401)
    expect(await statuses('/whoami', { authorization: token })).toBe(401)
  })
})
