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
const encoded = (text: string) => ({ alg: 'HS256', key: new TextEncoder().encode(text) })
const publicPem = ({ own: { d: _, ...jwk } }: Forger) =>
  String(createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'pem' }))

type Make = (forger: Forger) => string | Promise<string>

/** Tokens that both this service and another vendor's strict resource server refuse. */
const forged: Record<string, Make> = {
  'alg none': ({ claims, own }) => unsigned({ alg: 'none', typ: 'at+jwt', kid: own.kid }, claims),
  'alg none with a signature': ({ claims, own }) =>
    unsigned({ alg: 'none', typ: 'at+jwt', kid: own.kid }, claims, 'AA'),
  'alg NONE': ({ claims, own }) => unsigned({ alg: 'NONE', typ: 'at+jwt', kid: own.kid }, claims),
  'no alg': ({ claims, own }) => unsigned({ typ: 'at+jwt', kid: own.kid }, claims, 'AA'),
  'HS256 with the public key as text': (forger) => forger.sign({}, {}, encoded(publicPem(forger))),
  'HS256 with the public key as JSON': (forger) => {
    const { d: _, ...jwk } = forger.own
    return forger.sign({}, {}, encoded(JSON.stringify(jwk)))
  },
  'HS256 with an empty kid': (forger) => forger.sign({}, { kid: '' }, encoded(String(forger.own.x))),
  'RS256 with another key': async (forger) => forger.sign({}, {}, await foreignKey('RS256')),
  'ES256 with another key': async (forger) => forger.sign({}, {}, await foreignKey('ES256')),
  'another key in its header': async (forger) => {
    const key = await foreignKey('ES256')
    return forger.sign({}, { jwk: key.jwk }, key)
  },
  'another key at an address in its header': async (forger) =>
    forger.sign({}, { jku: 'https://evil.example/keys', kid: 'evil' }, await foreignKey('ES256')),
  'a kid of nobody': (forger) => forger.sign({}, { kid: 'nobody' }),
  'an unknown critical header': ({ claims, own }) =>
    unsigned({ alg: 'ES256', typ: 'at+jwt', kid: own.kid, crit: ['evil'], evil: true }, claims, 'A'.repeat(86)),
  'another payload under the same signature': async (forger) => {
    const [header, , signature] = (await forger.sign()).split('.')
    const payload = Buffer.from(JSON.stringify({ ...forger.claims, scope: 'account:read' })).toString('base64url')
    return [header, payload, signature].join('.')
  },
  'a signature of zeros': async (forger) => (await forger.sign()).replace(/[^.]+$/, 'A'.repeat(86)),
  'no signature': async (forger) => (await forger.sign()).replace(/[^.]+$/, ''),
  'an expiry in the past': (forger) => forger.sign({ exp: nowSeconds() - 1 }),
  'its end now': (forger) => forger.sign({ exp: nowSeconds() }),
  'no end': (forger) => forger.sign({ exp: undefined }),
  'an expiry that is not a number': (forger) => forger.sign({ exp: '9999999999' }),
  'valid only in a minute': (forger) => forger.sign({ nbf: nowSeconds() + 60 }),
  'no time of issue': (forger) => forger.sign({ iat: undefined }),
  'another audience': (forger) => forger.sign({ aud: 'https://elsewhere.example' }),
  'an audience with an extra slash': (forger) => forger.sign({ aud: `${address}/` }),
  'an audience below ours': (forger) => forger.sign({ aud: `${address}/mcp/other` }),
  'no audience': (forger) => forger.sign({ aud: undefined }),
  'another issuer': (forger) => forger.sign({ iss: 'https://elsewhere.example' }),
  'an issuer with an extra slash': (forger) => forger.sign({ iss: `${address}/` }),
  'no issuer': (forger) => forger.sign({ iss: undefined }),
  'the type of an ID token': (forger) => forger.sign({}, { typ: 'JWT' }),
  'no type': (forger) => forger.sign({}, { typ: undefined }),
  'no client': (forger) => forger.sign({ client_id: undefined }),
  nobody: (forger) => forger.sign({ sub: undefined }),
}

/** Tokens that only this service refuses, with the reasons. */
const strict: Record<string, { make: Make; why: string }> = {
  'several audiences': {
    make: (forger) => forger.sign({ aud: [address, `${address}/mcp`] }),
    why: 'The other audience could use the token here.',
  },
  'another audience besides': {
    make: (forger) => forger.sign({ aud: [`${address}/mcp`, 'https://elsewhere.example'] }),
    why: 'The other audience, a stranger, could use the token here.',
  },
  'issued in the future': {
    make: (forger) => forger.sign({ iat: nowSeconds() + 60, exp: nowSeconds() + 120 }),
    why: 'The service issues no token with a future date.',
  },
  'a longer lifetime than any token of the service': {
    make: (forger) => forger.sign({ iat: nowSeconds() - 3600, exp: nowSeconds() + 3600 }),
    why: 'The service issues no token for two hours.',
  },
  'no grant': { make: (forger) => forger.sign({ grant_id: undefined }), why: 'Grants are ours.' },
  'a grant of nobody': {
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
const sound: Record<string, Make> = {
  'as it is': (forger) => forger.sign(),
  'with its full media type': (forger) => forger.sign({}, { typ: 'application/at+jwt' }),
  'valid since a minute ago': (forger) => forger.sign({ nbf: nowSeconds() - 60 }),
}

describe('access tokens', () => {
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

  /** Runs oauth4webapi as a resource server, with this service's published keys. */
  const otherAccepts = async (token: string) => {
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

  test.each(Object.entries(sound))('%s: accepted here and elsewhere', async (_name, make) => {
    const token = await make(forger)
    expect([await accepts(token), await otherAccepts(token)]).toEqual([true, true])
  })

  test.each(Object.entries(forged))('%s: refused here and elsewhere', async (_name, make) => {
    const token = await make(forger)
    expect([await accepts(token), await otherAccepts(token)]).toEqual([false, false])
  })

  test.each(Object.entries(strict))('%s: refused here only', async (_name, { make }) => {
    const token = await make(forger)
    expect([await accepts(token), await otherAccepts(token)]).toEqual([false, true])
  })

  test('every entry point refuses a forged token, with advice', async () => {
    const strictly = Object.fromEntries(Object.entries(strict).map(([name, { make }]) => [name, make]))
    for (const [name, make] of Object.entries({ ...forged, ...strictly })) {
      const token = await make(forger)
      const rest = await world.get('/whoami', { key: token })
      expect(rest, name).toMatchObject({ status: 401, json: { errors: [{ code: 'unauthenticated' }] } })
      expect(rest.headers.get('www-authenticate'), name).toBe(
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
    expect(world.logged.join('\n')).not.toContain(await forger.sign())
  })

  test('an ID token is not accepted as an access token', async () => {
    expect(idToken.split('.')).toHaveLength(3)
    expect([await accepts(idToken), await otherAccepts(idToken)]).toEqual([false, false])
  })

  test('an access token is accepted only as a bearer token in the header', async () => {
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
