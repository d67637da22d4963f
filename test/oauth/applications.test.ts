import { createHash, generateKeyPairSync } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createConnections } from '../../src/service/oauth/connections.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { firstOwner } from '../../src/service/store/users.ts'
import { postApplication } from '../credentials/requests.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { addKey, createWorld, type World } from '../support/world.ts'
import { address } from './browser.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

type Form = Record<string, string | undefined>
type Change = { [Claim in keyof JWTPayload]?: JWTPayload[Claim] | undefined }

onEachDatabase('an application that signs in by itself', (database) => {
  let world: World
  let agentId: string

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    world = await createWorld(database, { system: dateSystem() })
    agentId = String((await world.whoami()).agentId)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await world.drop()
  })

  const registered = async (attributes: object = {}) => {
    const { data } = ok(await postApplication(world, agentId, attributes)).json
    return { id: String(data.id), ...data.attributes } as Registered
  }

  const ask = async (form: Form, headers: Record<string, string> = {}) => {
    const fields = { grant_type: 'client_credentials', ...form }
    const body = new URLSearchParams(
      Object.entries(fields).filter((one): one is [string, string] => one[1] !== undefined),
    )
    const request = new Request(`${address}/oauth/token`, { method: 'POST', body, headers })
    const response = await world.service.fetch(request)
    return { status: response.status, json: (await response.json()) as Record<string, string> }
  }
  const withSecret = ({ clientId, clientSecret }: Registered, form: Form = {}) =>
    ask({ client_id: clientId, client_secret: String(clientSecret), ...form })

  const whoami = async (key = '') => (await world.get('/whoami', { key })).json.data?.attributes

  /** The refusals of token requests in the party's activity, newest first. */
  const refusals = async () => {
    const { data } = ok(await world.get('/activity?limit=100', { key: world.apiKey })).json
    return (data as { attributes: { operation: string; result: { code: string } } }[])
      .filter(({ attributes }) => attributes.operation === 'request_application_token')
      .map(({ attributes }) => attributes.result.code)
  }

  const keyed = async (alg = 'ES256') => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    const publicKeys = [await exportJWK(publicKey)]
    const application = await registered({ publicKeys })
    const claims = (change: Change = {}): JWTPayload => {
      const seconds = Math.floor(Date.now() / 1000)
      const { clientId } = application
      const ownClaims = { iss: clientId, sub: clientId, aud: address, jti: crypto.randomUUID() }
      return { ...ownClaims, iat: seconds, exp: seconds + 60, ...change } as JWTPayload
    }
    const signed = (change: Change = {}, key: Parameters<SignJWT['sign']>[0] = privateKey, by = alg) =>
      new SignJWT(claims(change)).setProtectedHeader({ alg: by }).sign(key)
    const present = (client_assertion: string, form: Form = {}) =>
      ask({ client_assertion, client_assertion_type: assertionType, ...form })
    return { application, publicKey, claims, signed, present }
  }

  test('gets a token for one agent with its secret, in the body or a Basic header, and buys a card', async () => {
    const application = await registered()
    expect(application).toMatchObject({ authentication: 'client_secret', status: 'ACTIVE', lastUsedAt: null })
    expect(application.clientSecret).toMatch(/^cs_ntl_sandbox_[\w-]{43}$/)
    const { clientId, clientSecret } = application
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    for (const { status, json } of [
      await withSecret(application, { resource: `${address}/mcp` }),
      await ask({}, { authorization: `Basic ${basic}` }),
    ]) {
      expect({ status, json }).toEqual({
        status: 200,
        json: {
          access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
          token_type: 'Bearer',
          expires_in: 900,
          scope: 'payments:read payments:write cards:agent customers:read',
        },
      })
      expect(await whoami(json.access_token)).toMatchObject({
        ...{ actorType: 'agent', agentId, userId: null, agentIdentitySource: 'oauth_grant', keyId: null },
        grantId: application.id,
      })
      expect((await world.post('/agent-cards', card, { key: json.access_token ?? '' })).status).toBe(200)
    }
    const [listed] = ok(await world.get('/applications', { key: world.apiKey })).json.data
    expect(listed).toMatchObject({ id: application.id, attributes: { clientId, lastUsedAt: expect.any(String) } })
  })

  test('is still registered after a reset of the sandbox, and can sign in again', async () => {
    const application = await registered()
    ok(await world.send('POST', '/simulations/reset', { key: world.apiKey }))
    const { status, json } = await withSecret(application)
    expect(status).toBe(200)
    expect(await whoami(json.access_token)).toMatchObject({ agentId, grantId: application.id })
    const listed = ok(await world.get('/applications', { key: world.apiKey })).json.data
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([application.id])
  })

  test('gets a token by private_key_jwt with each announced signature algorithm', async () => {
    for (const alg of ['ES256', 'EdDSA', 'PS256', 'RS256']) {
      const { signed, present, application } = await keyed(alg)
      expect(application).toMatchObject({ authentication: 'private_key_jwt', clientSecret: null })
      const { json } = await present(await signed())
      expect(await whoami(json.access_token)).toMatchObject({ agentId, grantId: application.id })
    }
  })

  test('the token is for one audience, has no more than the registered scopes, and ends after 15 minutes', async () => {
    const application = await registered({ scopes: ['payments:read', 'cards:agent'] })
    const { json } = await withSecret(application, { scope: 'payments:read', resource: `${address}/mcp` })
    const claims = JSON.parse(Buffer.from(String(json.access_token?.split('.')[1]), 'base64url').toString())
    expect(claims).toMatchObject({
      ...{ iss: address, aud: `${address}/mcp`, sub: application.clientId, client_id: application.clientId },
      ...{ scope: 'payments:read', grant_id: application.id },
    })
    const key = String(json.access_token)
    expect((await world.get('/wallets', { key })).status).toBe(200)
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
    vi.advanceTimersByTime(15 * 60_000)
    expectRefusal(await world.get('/wallets', { key }), 'unauthenticated')
    expect((await withSecret(application, { scope: 'payments:write' })).json.error).toBe('invalid_scope')
    expect((await withSecret(application, { resource: 'https://other.example/mcp' })).json.error).toBe('invalid_target')
    expect(await refusals()).toEqual(['invalid_target', 'invalid_scope'])
  })

  test('loses scopes or its access at once when an operation removes them', async () => {
    const application = await registered()
    const key = String((await withSecret(application)).json.access_token)
    const path = `/applications/${application.id}`
    const change = (attributes: object) => world.send('PATCH', path, { key: world.apiKey, attributes })
    expect(ok(await change({ scopes: ['payments:read'] })).json.data.attributes.scopes).toEqual(['payments:read'])
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
    expectRefusal(await change({ scopes: ['payments:read', 'cards:agent'] }), 'conflict')
    const { data } = ok(await world.send('DELETE', path, { key: world.apiKey })).json
    expect(data.attributes).toMatchObject({ status: 'REVOKED', revokedAt: expect.any(String) })
    expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    expect((await withSecret(application)).json.error).toBe('invalid_client')
    expectRefusal(await change({ scopes: [] }), 'conflict')
    ok(await world.send('DELETE', path, { key: world.apiKey }))
  })

  test('the owner sees the sign-in on /connections, and can reduce its scopes or revoke it there', async () => {
    const application = await registered()
    const connections = createConnections(world)
    const user = (await world.store.transaction(firstOwner)) as UserRow
    const listed = await connections.list(user)
    expect(listed).toMatchObject([{ grantId: application.id, clientName: 'Worker', signsInItself: true }])
    const member = { ...user, role: 'MEMBER' as const, id: 'usr_another' }
    expect(await connections.list(member)).toEqual([])
    await expect(connections.revoke(member, application.id)).rejects.toMatchObject({ code: 'not_found' })
    await connections.narrow(user, application.id, ['payments:read'])
    expect((await withSecret(application)).json.scope).toBe('payments:read')
    await connections.revoke(user, application.id)
    expect((await withSecret(application)).json.error).toBe('invalid_client')
    expect(await connections.list(user)).toEqual([])
  })

  test('loses its access when its agent is deleted', async () => {
    const { id } = ok(await world.post('/agents', { name: 'Clerk' }, { key: world.apiKey })).json.data
    const { data } = ok(await postApplication(world, id)).json
    const application = { id: data.id, ...data.attributes } as Registered
    const key = String((await withSecret(application)).json.access_token)
    ok(await world.send('DELETE', `/agents/${id}`, { key: world.apiKey }))
    expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    expect((await withSecret(application)).json.error).toBe('invalid_client')
    expectRefusal(await postApplication(world, id), 'conflict')
  })

  test('only a party’s key with its own scope manages applications; an agent never does', async () => {
    const { partyId } = await world.whoami()
    const path = `/applications/${(await registered()).id}`
    const without = await addKey(world, { partyId, agentId: null, scopes: ['api_keys.create', 'agents.update'] })
    const token = String((await withSecret(await registered())).json.access_token)
    for (const key of [without, world.agentKey, token]) {
      expectRefusal(await postApplication(world, agentId, {}, { key }), 'forbidden')
      expectRefusal(await world.get('/applications', { key }), 'forbidden')
      expectRefusal(await world.send('PATCH', path, { key, attributes: { scopes: [] } }), 'forbidden')
      expectRefusal(await world.send('DELETE', path, { key }), 'forbidden')
    }
  })

  test('only the hash of a secret is stored, and no private key is accepted', async () => {
    const { clientId, clientSecret } = await registered()
    const stored = await world.store.transaction(async ({ db }) => ({
      records: await db.selectFrom('oauthRecords').selectAll().execute(),
      grants: await db.selectFrom('oauthGrants').selectAll().execute(),
    }))
    expect(JSON.stringify(stored)).toContain(createHash('sha256').update(String(clientSecret)).digest('hex'))
    expect(JSON.stringify(stored)).not.toContain(String(clientSecret))
    expect(world.logged.join('\n')).not.toContain(String(clientSecret))
    // The stored hash does not work as a secret.
    const hash = createHash('sha256').update(String(clientSecret)).digest('hex')
    expect((await ask({ client_id: clientId, client_secret: hash })).json.error).toBe('invalid_client')
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const publicKeys = [await exportJWK(privateKey)]
    const source = { pointer: '/data/attributes/publicKeys/0/d' }
    expectRefusal(await postApplication(world, agentId, { publicKeys }), 'invalid_value', { source })
  })

  test('an unusable key is refused, and the error names the key', async () => {
    const { application, publicKey } = await keyed()
    const good = await exportJWK(publicKey)
    const { publicKey: small } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const { publicKey: curve } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const unusable = [
      { ...good, x: '!!' },
      { ...good, y: good.x },
      { kty: 'OKP', crv: 'Ed25519' },
      { ...good, alg: 'ES384' },
      { ...good, alg: 'RS256' },
      small.export({ format: 'jwk' }),
      curve.export({ format: 'jwk' }),
    ]
    for (const key of unusable) {
      const publicKeys = [good, key]
      const refusal = { status: 422, source: { pointer: '/data/attributes/publicKeys/1' } }
      expectRefusal(await postApplication(world, agentId, { publicKeys }), 'invalid_value', refusal)
      const change = { key: world.apiKey, attributes: { publicKeys } }
      expectRefusal(await world.send('PATCH', `/applications/${application.id}`, change), 'invalid_value', refusal)
    }
  })

  test('each abuse of an assertion is refused with invalid_client, and recorded', async () => {
    const { application, publicKey, claims, signed, present } = await keyed()
    const { privateKey: another } = await generateKeyPair('ES256')
    const now = Math.floor(Date.now() / 1000)
    const { clientId } = application
    const unsigned = (header: object) =>
      `${[header, claims()].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
    const shared = new TextEncoder().encode(await exportSPKI(publicKey))
    const used = await signed({ jti: 'once' })
    expect((await present(used)).status).toBe(200)
    const abuses: Record<string, string> = {
      'another audience': await signed({ aud: 'https://other.example' }),
      'no audience': await signed({ aud: undefined }),
      'another issuer': await signed({ iss: 'oap_other' }),
      'used before': used,
      'the same jti, signed again': await signed({ jti: 'once' }),
      'no jti': await signed({ jti: undefined }),
      'another key': await signed({}, another),
      'alg none': unsigned({ alg: 'none' }),
      'HS256 with the public key as the secret': await signed({}, shared, 'HS256'),
      'HS256 without a signature': unsigned({ alg: 'HS256' }),
      'expired beyond the tolerance': await signed({ exp: now - 15 }),
      'not valid yet': await signed({ nbf: now + 16 }),
      'without an end': await signed({ exp: undefined }),
    }
    for (const [abuse, assertion] of Object.entries(abuses)) {
      const { status, json } = await present(assertion)
      expect({ abuse, status, error: json.error }).toEqual({ abuse, status: 401, error: 'invalid_client' })
    }
    expect(await refusals()).toEqual(Object.keys(abuses).map(() => 'invalid_client'))
    // Requests with a secret, with no proof, or with another client's id are refused too.
    for (const form of [{ client_id: clientId, client_secret: 'x' }, { client_id: clientId }]) {
      expect((await ask(form)).json.error).toBe('invalid_client')
    }
    const other = await registered()
    expect((await present(await signed(), { client_id: other.clientId })).json.error).toBe('invalid_request')
  })

  test('a clock may be off by 15 seconds', async () => {
    const { signed, present } = await keyed()
    const now = Math.floor(Date.now() / 1000)
    expect((await present(await signed({ exp: now - 14 }))).status).toBe(200)
    expect((await present(await signed({ nbf: now + 15 }))).status).toBe(200)
  })

  test('a new key works at once, and the previous key stops working', async () => {
    const { application, signed, present } = await keyed()
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    const attributes = { publicKeys: [await exportJWK(publicKey)] }
    ok(await world.send('PATCH', `/applications/${application.id}`, { key: world.apiKey, attributes }))
    expect((await present(await signed())).json.error).toBe('invalid_client')
    expect((await present(await signed({}, privateKey))).status).toBe(200)
    const withoutKeys = await registered()
    const path = `/applications/${withoutKeys.id}`
    expectRefusal(await world.send('PATCH', path, { key: world.apiKey, attributes }), 'conflict')
  })

  test('no other client can sign in by itself, get a secret, or register with a key', async () => {
    const register = async (metadata: object) => {
      const body = JSON.stringify({ redirect_uris: ['https://app.example/'], ...metadata })
      const headers = { 'content-type': 'application/json' }
      const response = await world.service.fetch(
        new Request(`${address}/oauth/register`, { method: 'POST', body, headers }),
      )
      return (await response.json()) as Record<string, string>
    }
    const { publicKey } = await generateKeyPair('ES256', { extractable: true })
    const jwks = { keys: [await exportJWK(publicKey)] }
    for (const metadata of [
      { token_endpoint_auth_method: 'private_key_jwt', jwks },
      { grant_types: ['client_credentials'], response_types: [], redirect_uris: [] },
      { client_id: 'oap_0123', token_endpoint_auth_method: 'private_key_jwt', jwks },
    ]) {
      expect(await register(metadata)).toMatchObject({ error: 'invalid_client_metadata' })
    }
    const plain = await register({})
    expect((await ask({ client_id: plain.client_id })).json.error).toBe('invalid_request')
  })
})

interface Registered {
  id: string
  clientId: string
  clientSecret: string | null
  [attribute: string]: unknown
}
