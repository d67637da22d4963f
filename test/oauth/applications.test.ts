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

onEachDatabase('applications that sign in by themselves', (database) => {
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

  const registerApplication = async (attributes: object = {}) => {
    const { data } = ok(await postApplication(world, agentId, attributes)).json
    return { id: String(data.id), ...data.attributes } as Registered
  }

  const requestToken = async (form: Form, headers: Record<string, string> = {}) => {
    const fields = { grant_type: 'client_credentials', ...form }
    const body = new URLSearchParams(
      Object.entries(fields).filter((one): one is [string, string] => one[1] !== undefined),
    )
    const request = new Request(`${address}/oauth/token`, { method: 'POST', body, headers })
    const response = await world.service.fetch(request)
    return { status: response.status, json: (await response.json()) as Record<string, string> }
  }
  const signIn = ({ clientId, clientSecret }: Registered, form: Form = {}) =>
    requestToken({ client_id: clientId, client_secret: String(clientSecret), ...form })

  const whoami = async (key = '') => (await world.get('/whoami', { key })).json.data?.attributes

  /** Returns the error codes of the refused token requests in the party's activity, newest first. */
  const refusals = async () => {
    const { data } = ok(await world.get('/activity?limit=100', { key: world.apiKey })).json
    return (data as { attributes: { operation: string; result: { code: string } } }[])
      .filter(({ attributes }) => attributes.operation === 'request_application_token')
      .map(({ attributes }) => attributes.result.code)
  }

  const registerWithKey = async (alg = 'ES256') => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    const publicKeys = [await exportJWK(publicKey)]
    const application = await registerApplication({ publicKeys })
    const claims = (change: Change = {}): JWTPayload => {
      const seconds = Math.floor(Date.now() / 1000)
      const { clientId } = application
      const ownClaims = { iss: clientId, sub: clientId, aud: address, jti: crypto.randomUUID() }
      return { ...ownClaims, iat: seconds, exp: seconds + 60, ...change } as JWTPayload
    }
    const signAssertion = (change: Change = {}, key: Parameters<SignJWT['sign']>[0] = privateKey, headerAlg = alg) =>
      new SignJWT(claims(change)).setProtectedHeader({ alg: headerAlg }).sign(key)
    const present = (client_assertion: string, form: Form = {}) =>
      requestToken({ client_assertion, client_assertion_type: assertionType, ...form })
    return { application, publicKey, claims, signAssertion, present }
  }

  test('an application that sends its secret in the body or a Basic header gets a token for one agent, and issues a card', async () => {
    const application = await registerApplication()
    expect(application).toMatchObject({ authentication: 'client_secret', status: 'ACTIVE', lastUsedAt: null })
    expect(application.clientSecret).toMatch(/^cs_ntl_sandbox_[\w-]{43}$/)
    const { clientId, clientSecret } = application
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    for (const { status, json } of [
      await signIn(application, { resource: `${address}/mcp` }),
      await requestToken({}, { authorization: `Basic ${basic}` }),
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

  test('an application is still registered after a reset of the sandbox, and can sign in again', async () => {
    const application = await registerApplication()
    ok(await world.send('POST', '/simulations/reset', { key: world.apiKey }))
    const { status, json } = await signIn(application)
    expect(status).toBe(200)
    expect(await whoami(json.access_token)).toMatchObject({ agentId, grantId: application.id })
    const listed = ok(await world.get('/applications', { key: world.apiKey })).json.data
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([application.id])
  })

  test('an application gets a token by private_key_jwt with each signature algorithm that the metadata announces', async () => {
    for (const alg of ['ES256', 'EdDSA', 'PS256', 'RS256']) {
      const { signAssertion, present, application } = await registerWithKey(alg)
      expect(application).toMatchObject({ authentication: 'private_key_jwt', clientSecret: null })
      const { json } = await present(await signAssertion())
      expect(await whoami(json.access_token)).toMatchObject({ agentId, grantId: application.id })
    }
  })

  test('an application’s token is for one audience, has at most the registered scopes, and expires after 15 minutes', async () => {
    const application = await registerApplication({ scopes: ['payments:read', 'cards:agent'] })
    const { json } = await signIn(application, { scope: 'payments:read', resource: `${address}/mcp` })
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
    expect((await signIn(application, { scope: 'payments:write' })).json.error).toBe('invalid_scope')
    expect((await signIn(application, { resource: 'https://other.example/mcp' })).json.error).toBe('invalid_target')
    expect(await refusals()).toEqual(['invalid_target', 'invalid_scope'])
  })

  test('an application loses scopes as soon as they are removed, and all access as soon as it is revoked', async () => {
    const application = await registerApplication()
    const key = String((await signIn(application)).json.access_token)
    const path = `/applications/${application.id}`
    const change = (attributes: object) => world.send('PATCH', path, { key: world.apiKey, attributes })
    expect(ok(await change({ scopes: ['payments:read'] })).json.data.attributes.scopes).toEqual(['payments:read'])
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
    expectRefusal(await change({ scopes: ['payments:read', 'cards:agent'] }), 'conflict')
    const { data } = ok(await world.send('DELETE', path, { key: world.apiKey })).json
    expect(data.attributes).toMatchObject({ status: 'REVOKED', revokedAt: expect.any(String) })
    expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    expect((await signIn(application)).json.error).toBe('invalid_client')
    expectRefusal(await change({ scopes: [] }), 'conflict')
    ok(await world.send('DELETE', path, { key: world.apiKey }))
  })

  test('the owner sees the application on /connections, and can reduce its scopes or revoke it there', async () => {
    const application = await registerApplication()
    const connections = createConnections(world)
    const user = (await world.store.transaction(firstOwner)) as UserRow
    const listed = await connections.list(user)
    expect(listed).toMatchObject([{ grantId: application.id, clientName: 'Worker', signsInItself: true }])
    const member = { ...user, role: 'MEMBER' as const, id: 'usr_another' }
    expect(await connections.list(member)).toEqual([])
    await expect(connections.revoke(member, application.id)).rejects.toMatchObject({ code: 'not_found' })
    await connections.narrow(user, application.id, ['payments:read'])
    expect((await signIn(application)).json.scope).toBe('payments:read')
    await connections.revoke(user, application.id)
    expect((await signIn(application)).json.error).toBe('invalid_client')
    expect(await connections.list(user)).toEqual([])
  })

  test('an application loses its access when its agent is deleted', async () => {
    const { id } = ok(await world.post('/agents', { name: 'Clerk' }, { key: world.apiKey })).json.data
    const { data } = ok(await postApplication(world, id)).json
    const application = { id: data.id, ...data.attributes } as Registered
    const key = String((await signIn(application)).json.access_token)
    ok(await world.send('DELETE', `/agents/${id}`, { key: world.apiKey }))
    expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    expect((await signIn(application)).json.error).toBe('invalid_client')
    const listed = ok(await world.get('/applications', { key: world.apiKey })).json.data
    const shown = listed.find((one: Registered) => one.id === application.id)
    expect(shown.attributes).toMatchObject({ status: 'REVOKED', revokedAt: expect.any(String) })
    const stored = await world.store.transaction(({ db }) => db.selectFrom('oauthRecords').selectAll().execute())
    expect(stored.filter(({ grantId }) => grantId === application.id)).toEqual([])
    expectRefusal(await postApplication(world, id), 'conflict')
  })

  test('only a party key with the dedicated scope can manage applications; an agent never can', async () => {
    const { partyId } = await world.whoami()
    const path = `/applications/${(await registerApplication()).id}`
    const otherKey = await addKey(world, { partyId, agentId: null, scopes: ['api_keys.create', 'agents.update'] })
    const token = String((await signIn(await registerApplication())).json.access_token)
    for (const key of [otherKey, world.agentKey, token]) {
      expectRefusal(await postApplication(world, agentId, {}, { key }), 'forbidden')
      expectRefusal(await world.get('/applications', { key }), 'forbidden')
      expectRefusal(await world.send('PATCH', path, { key, attributes: { scopes: [] } }), 'forbidden')
      expectRefusal(await world.send('DELETE', path, { key }), 'forbidden')
    }
  })

  test('only the hash of an application’s secret is stored, and registering a private key is refused', async () => {
    const { clientId, clientSecret } = await registerApplication()
    const stored = await world.store.transaction(async ({ db }) => ({
      records: await db.selectFrom('oauthRecords').selectAll().execute(),
      grants: await db.selectFrom('oauthGrants').selectAll().execute(),
    }))
    expect(JSON.stringify(stored)).toContain(createHash('sha256').update(String(clientSecret)).digest('hex'))
    expect(JSON.stringify(stored)).not.toContain(String(clientSecret))
    expect(world.logged.join('\n')).not.toContain(String(clientSecret))
    // The stored hash does not work as a secret.
    const hash = createHash('sha256').update(String(clientSecret)).digest('hex')
    expect((await requestToken({ client_id: clientId, client_secret: hash })).json.error).toBe('invalid_client')
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const publicKeys = [await exportJWK(privateKey)]
    const source = { pointer: '/data/attributes/publicKeys/0/d' }
    expectRefusal(await postApplication(world, agentId, { publicKeys }), 'invalid_value', { source })
  })

  test('an unusable public key is refused, and the error points to it', async () => {
    const { application, publicKey } = await registerWithKey()
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

  test('each misuse of an assertion is refused with invalid_client, and recorded in the activity', async () => {
    const { application, publicKey, claims, signAssertion, present } = await registerWithKey()
    const { privateKey: another } = await generateKeyPair('ES256')
    const now = Math.floor(Date.now() / 1000)
    const { clientId } = application
    const unsigned = (header: object) =>
      `${[header, claims()].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
    const shared = new TextEncoder().encode(await exportSPKI(publicKey))
    const used = await signAssertion({ jti: 'once' })
    expect((await present(used)).status).toBe(200)
    const abuses: Record<string, string> = {
      'another audience': await signAssertion({ aud: 'https://other.example' }),
      'no audience': await signAssertion({ aud: undefined }),
      'another issuer': await signAssertion({ iss: 'oap_other' }),
      'the same assertion again': used,
      'the same jti, signed again': await signAssertion({ jti: 'once' }),
      'no jti': await signAssertion({ jti: undefined }),
      'another key': await signAssertion({}, another),
      'alg none': unsigned({ alg: 'none' }),
      'HS256 with the public key as the secret': await signAssertion({}, shared, 'HS256'),
      'HS256 without a signature': unsigned({ alg: 'HS256' }),
      'expired 15 seconds ago': await signAssertion({ exp: now - 15 }),
      'not valid yet': await signAssertion({ nbf: now + 16 }),
      'no expiry': await signAssertion({ exp: undefined }),
    }
    for (const [abuse, assertion] of Object.entries(abuses)) {
      const { status, json } = await present(assertion)
      expect({ abuse, status, error: json.error }).toEqual({ abuse, status: 401, error: 'invalid_client' })
    }
    expect(await refusals()).toEqual(Object.keys(abuses).map(() => 'invalid_client'))
    // Also refused are a request with a secret instead of an assertion, a request with neither of the two, and a
    // request with the id of a different client.
    for (const form of [{ client_id: clientId, client_secret: 'x' }, { client_id: clientId }]) {
      expect((await requestToken(form)).json.error).toBe('invalid_client')
    }
    const other = await registerApplication()
    expect((await present(await signAssertion(), { client_id: other.clientId })).json.error).toBe('invalid_request')
  })

  test('the times in an application’s assertion are checked with a tolerance of 15 seconds', async () => {
    const { signAssertion, present } = await registerWithKey()
    const now = Math.floor(Date.now() / 1000)
    expect((await present(await signAssertion({ exp: now - 14 }))).status).toBe(200)
    expect((await present(await signAssertion({ nbf: now + 15 }))).status).toBe(200)
  })

  test('an application’s new key works at once, and its previous key stops working', async () => {
    const { application, signAssertion, present } = await registerWithKey()
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    const attributes = { publicKeys: [await exportJWK(publicKey)] }
    ok(await world.send('PATCH', `/applications/${application.id}`, { key: world.apiKey, attributes }))
    expect((await present(await signAssertion())).json.error).toBe('invalid_client')
    expect((await present(await signAssertion({}, privateKey))).status).toBe(200)
    const withoutKeys = await registerApplication()
    const path = `/applications/${withoutKeys.id}`
    expectRefusal(await world.send('PATCH', path, { key: world.apiKey, attributes }), 'conflict')
  })

  test('a client that registers itself cannot register a key, or sign in without a person', async () => {
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
    expect((await requestToken({ client_id: plain.client_id })).json.error).toBe('invalid_request')
  })
})

interface Registered {
  id: string
  clientId: string
  clientSecret: string | null
  [attribute: string]: unknown
}
