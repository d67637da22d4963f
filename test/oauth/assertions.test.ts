import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createConnections } from '../../src/service/oauth/connections.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { firstOwner } from '../../src/service/store/users.ts'
import { postApplication, postIssuer, trust } from '../credentials/requests.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { addKey, addParty, createWorld, type World } from '../support/world.ts'
import { address } from './browser.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const resource = `${address}/mcp`

type Change = { [Claim in keyof JWTPayload]?: JWTPayload[Claim] | undefined }
type Key = Parameters<SignJWT['sign']>[0]

onEachDatabase('sign-in through an identity provider', (database) => {
  let world: World
  let agentId: string
  let keys: Awaited<ReturnType<typeof newKey>>
  /** Returns the provider's response at its JWKS URL. */
  let jwksResponse: () => Response | Promise<Response>
  let requestedUrls: string[]

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    keys = await newKey('first')
    jwksResponse = () => Response.json({ keys: [keys.jwk] })
    requestedUrls = []
    const publicFetch = async (input: unknown) => {
      requestedUrls.push(String(input))
      return jwksResponse()
    }
    world = await createWorld(database, { system: dateSystem(), publicFetch: publicFetch as typeof fetch })
    agentId = String((await world.whoami()).agentId)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await world.drop()
  })

  const addTrustedIssuer = async (attributes: object = {}, key = world.apiKey, agent = agentId) => {
    const { data } = ok(await postIssuer(world, agent, attributes, { key })).json
    return { id: String(data.id), ...data.attributes } as TrustedIssuer
  }

  const claims = ({ clientId }: Pick<ClientCredentials, 'clientId'>, change: Change = {}): JWTPayload => {
    const iat = Math.floor(Date.now() / 1000)
    const ownClaims = { iss: trust.issuer, sub: 'clerk', aud: address, client_id: clientId, resource }
    return { ...ownClaims, jti: crypto.randomUUID(), iat, exp: iat + 300, ...change } as JWTPayload
  }
  const signAssertion = (
    client: Pick<ClientCredentials, 'clientId'>,
    change: Change = {},
    { key = keys.privateKey as Key, header = {} }: { key?: Key; header?: object } = {},
  ) =>
    new SignJWT(claims(client, change))
      .setProtectedHeader({ alg: 'ES256', typ: 'oauth-id-jag+jwt', kid: 'first', ...header })
      .sign(key)

  const present = async (
    { clientId, clientSecret }: ClientCredentials,
    assertion: string,
    form: Record<string, string> = {},
  ) => {
    const body = new URLSearchParams({ grant_type: grant, assertion, ...form })
    const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
    const response = await world.service.fetch(new Request(`${address}/oauth/token`, { method: 'POST', body, headers }))
    return { status: response.status, json: (await response.json()) as Record<string, string> }
  }

  const refusals = async (key = world.apiKey) => {
    const { data } = ok(await world.get('/activity?limit=100', { key })).json
    return (data as { attributes: { operation: string; result: { code: string } } }[])
      .filter(({ attributes }) => attributes.operation === 'request_application_token')
      .map(({ attributes }) => attributes.result.code)
  }

  test('an application with an assertion signs in as the agent that the claims select, and issues a card', async () => {
    const { id } = ok(await world.post('/agents', { name: 'Buyer' }, { key: world.apiKey })).json.data
    const agents = [
      { claim: 'groups', value: 'buyers', agentId: id },
      { claim: 'sub', value: 'clerk', agentId },
    ]
    const issuer = await addTrustedIssuer({ agents })
    expect(issuer).toMatchObject({ ...trust, agents, audience: address, status: 'ACTIVE' })
    expect(issuer.clientSecret).toMatch(/^cs_ntl_sandbox_[\w-]{43}$/)
    const { status, json } = await present(issuer, await signAssertion(issuer), { resource })
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'payments:read payments:write cards:agent customers:read',
      },
    })
    const key = String(json.access_token)
    const { data } = ok(await world.get('/whoami', { key })).json
    expect(data.attributes).toMatchObject({
      ...{ actorType: 'agent', agentId, userId: null, agentIdentitySource: 'oauth_grant' },
      grantId: expect.stringMatching(/^ogr_/),
    })
    ok(await world.post('/agent-cards', card, { key }))
    const buyer = await present(issuer, await signAssertion(issuer, { groups: ['staff', 'buyers'] }))
    expect((await world.get('/whoami', { key: String(buyer.json.access_token) })).json.data.attributes.agentId).toBe(id)
    expect(requestedUrls).toEqual([trust.jwksUri])
  })

  test('a token gets only the scopes that the trusted issuer, the assertion and the request all allow, and expires after 15 minutes', async () => {
    const issuer = await addTrustedIssuer({ scopes: ['payments:read', 'cards:agent'] })
    const scope = 'payments:read payments:write'
    expect((await present(issuer, await signAssertion(issuer), { scope })).json.scope).toBe('payments:read')
    const { json } = await present(issuer, await signAssertion(issuer, { scope }))
    expect(json.scope).toBe('payments:read')
    expect(json.refresh_token).toBeUndefined()
    const key = String(json.access_token)
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
    const none = await present(issuer, await signAssertion(issuer, { scope: 'payments:write' }))
    expect(none.json.error).toBe('invalid_scope')
    const other = await present(issuer, await signAssertion(issuer), { resource: address })
    expect(other.json.error).toBe('invalid_target')
    vi.advanceTimersByTime(15 * 60_000)
    expectRefusal(await world.get('/wallets', { key }), 'unauthenticated')
  })

  test('changing or revoking a trusted issuer ends its tokens at once', async () => {
    const issuer = await addTrustedIssuer()
    const path = `/trusted-issuers/${issuer.id}`
    const token = async () => String((await present(issuer, await signAssertion(issuer))).json.access_token)
    const first = await token()
    const change = (attributes: object) => world.send('PATCH', path, { key: world.apiKey, attributes })
    expect(ok(await change({ scopes: ['payments:read'] })).json.data.attributes.scopes).toEqual(['payments:read'])
    expectRefusal(await world.get('/whoami', { key: first }), 'unauthenticated')
    const second = await token()
    expectRefusal(await world.post('/agent-cards', card, { key: second }), 'forbidden')
    ok(await change({ agents: [{ claim: 'sub', value: 'somebody else', agentId }] }))
    expect((await present(issuer, await signAssertion(issuer))).json).toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('match no agent'),
    })
    ok(await change({ agents: [{ claim: 'sub', value: 'clerk', agentId }] }))
    const third = await token()
    const { data } = ok(await world.send('DELETE', path, { key: world.apiKey })).json
    expect(data.attributes).toMatchObject({ status: 'REVOKED', revokedAt: expect.any(String) })
    expectRefusal(await world.get('/whoami', { key: third }), 'unauthenticated')
    expect((await present(issuer, await signAssertion(issuer))).json.error).toBe('invalid_client')
    expectRefusal(await change({ scopes: [] }), 'conflict')
    ok(await world.send('DELETE', path, { key: world.apiKey }))
    const { data: listed } = ok(await world.get('/trusted-issuers', { key: world.apiKey })).json
    expect(listed).toMatchObject([{ id: issuer.id, attributes: { status: 'REVOKED' } }])
  })

  test('a deleted agent cannot sign in with an assertion or be assigned to a trusted issuer', async () => {
    const { id } = ok(await world.post('/agents', { name: 'Clerk' }, { key: world.apiKey })).json.data
    const issuer = await addTrustedIssuer({}, world.apiKey, id)
    const key = String((await present(issuer, await signAssertion(issuer))).json.access_token)
    ok(await world.send('DELETE', `/agents/${id}`, { key: world.apiKey }))
    expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    expect((await present(issuer, await signAssertion(issuer))).json.error).toBe('invalid_grant')
    expectRefusal(await postIssuer(world, id), 'conflict')
  })

  test('the owner sees the trusted issuer on /connections, and can reduce its scopes or revoke it there', async () => {
    const issuer = await addTrustedIssuer()
    const key = String((await present(issuer, await signAssertion(issuer))).json.access_token)
    const connections = createConnections(world)
    const user = (await world.store.transaction(firstOwner)) as UserRow
    expect(await connections.list(user)).toMatchObject([
      { grantId: issuer.id, clientName: 'Chat', identityProvider: trust.issuer, agentName: 'Sandbox shopper' },
    ])
    const member = { ...user, role: 'MEMBER' as const, id: 'usr_another' }
    expect(await connections.list(member)).toEqual([])
    await expect(connections.revoke(member, issuer.id)).rejects.toMatchObject({ code: 'not_found' })
    await connections.narrow(user, issuer.id, ['payments:read'])
    expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    expect((await present(issuer, await signAssertion(issuer))).json.scope).toBe('payments:read')
    await connections.revoke(user, issuer.id)
    expect((await present(issuer, await signAssertion(issuer))).json.error).toBe('invalid_client')
    expect(await connections.list(user)).toEqual([])
  })

  test('each misuse of an assertion is refused with invalid_grant, and recorded in the activity', async () => {
    const issuer = await addTrustedIssuer()
    const other = await addTrustedIssuer({ name: 'Another application' })
    const now = Math.floor(Date.now() / 1000)
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = (header: object) =>
      `${part({ typ: 'oauth-id-jag+jwt', kid: 'first', ...header })}.${part(claims(issuer))}.`
    const shared = new TextEncoder().encode(await exportSPKI(keys.publicKey))
    const evil = await newKey('evil')
    const used = await signAssertion(issuer, { jti: 'once' })
    expect((await present(issuer, used)).status).toBe(200)
    const abuses: Record<string, string> = {
      'another audience': await signAssertion(issuer, { aud: 'https://other.example' }),
      'the resource as the audience': await signAssertion(issuer, { aud: resource }),
      'this and another audience': await signAssertion(issuer, { aud: [address, 'https://other.example'] }),
      'no audience': await signAssertion(issuer, { aud: undefined }),
      'another resource': await signAssertion(issuer, { resource: 'https://other.example/mcp' }),
      'no resource': await signAssertion(issuer, { resource: undefined }),
      'issued to another application': await signAssertion(other),
      'no client id': await signAssertion(issuer, { client_id: undefined }),
      'the same assertion again': used,
      'the same jti, signed again': await signAssertion(issuer, { jti: 'once' }),
      'no jti': await signAssertion(issuer, { jti: undefined }),
      'no subject': await signAssertion(issuer, { sub: undefined }),
      'a subject that maps to no agent': await signAssertion(issuer, { sub: 'somebody else' }),
      'an untrusted issuer, signed with the trusted key': await signAssertion(issuer, { iss: 'https://evil.example' }),
      'another key with the same key id': await signAssertion(issuer, {}, { key: evil.privateKey }),
      'a key inside the assertion itself': await signAssertion(
        issuer,
        {},
        { key: evil.privateKey, header: { kid: 'evil', jwk: evil.jwk, jku: 'https://evil.example/jwks' } },
      ),
      'alg none': unsigned({ alg: 'none' }),
      'HS256 with the public key as the secret': await signAssertion(
        issuer,
        {},
        { key: shared, header: { alg: 'HS256' } },
      ),
      'an access token': await signAssertion(issuer, {}, { header: { typ: 'at+jwt' } }),
      'no type': await signAssertion(issuer, {}, { header: { typ: undefined } }),
      'expired 15 seconds ago': await signAssertion(issuer, { exp: now - 15 }),
      'not valid yet': await signAssertion(issuer, { nbf: now + 16 }),
      'issued in the future': await signAssertion(issuer, { iat: now + 16 }),
      'no expiry': await signAssertion(issuer, { exp: undefined }),
      'valid for more than an hour': await signAssertion(issuer, { exp: now + 3601 }),
      'not a JWT': 'made up',
    }
    for (const [abuse, assertion] of Object.entries(abuses)) {
      const { status, json } = await present(issuer, assertion)
      expect({ abuse, status, error: json.error }).toEqual({ abuse, status: 400, error: 'invalid_grant' })
      expect(json.error_description).not.toContain(assertion)
    }
    expect(await refusals()).toEqual(Object.keys(abuses).map(() => 'invalid_grant'))
    expect(requestedUrls.every((url) => url === trust.jwksUri)).toBe(true)
    // An assertion is refused if the request has the secret of a different application.
    const assertion = await signAssertion(issuer)
    const stolen = await present({ ...issuer, clientSecret: other.clientSecret }, assertion)
    expect(stolen).toMatchObject({ status: 401, json: { error: 'invalid_client' } })
    expect((await present(issuer, assertion)).status).toBe(200)
  })

  test('the times in a provider’s assertion are checked with a tolerance of 15 seconds', async () => {
    const issuer = await addTrustedIssuer()
    const now = Math.floor(Date.now() / 1000)
    expect((await present(issuer, await signAssertion(issuer, { exp: now - 14 }))).status).toBe(200)
    expect((await present(issuer, await signAssertion(issuer, { iat: now + 15, nbf: now + 15 }))).status).toBe(200)
  })

  test('a provider’s new key works, and its previous key stops working', async () => {
    const issuer = await addTrustedIssuer()
    expect((await present(issuer, await signAssertion(issuer))).status).toBe(200)
    const old = keys
    keys = await newKey('second')
    vi.advanceTimersByTime(61_000)
    const header = { kid: 'second' }
    expect((await present(issuer, await signAssertion(issuer, {}, { header }))).status).toBe(200)
    expect((await present(issuer, await signAssertion(issuer, {}, { key: old.privateKey }))).json).toMatchObject({
      error: 'invalid_grant',
      error_description: expect.stringContaining('No key of https://idp.example'),
    })
  })

  test('nobody can sign in while the provider’s keys are unreadable or invalid', async () => {
    const issuer = await addTrustedIssuer()
    const shared = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64url')
    const answers: Record<string, () => Response> = {
      'an error': () => new Response('no', { status: 500 }),
      'a redirect': () => new Response(null, { status: 302, headers: { location: 'https://evil.example/jwks' } }),
      'not JSON': () => new Response('<html>'),
      'another document': () => Response.json({ issuer: trust.issuer }),
      'a response that is too large': () => new Response(`{"keys":[${'1,'.repeat(70_000)}1]}`),
      'a symmetric key': () => Response.json({ keys: [{ kty: 'oct', k: shared, kid: 'first', alg: 'HS256' }] }),
      'no answer': () => {
        throw new TypeError('fetch failed')
      },
    }
    for (const [kind, answer] of Object.entries(answers)) {
      jwksResponse = answer
      vi.advanceTimersByTime(61_000)
      const { status, json } = await present(issuer, await signAssertion(issuer))
      expect({ kind, status, error: json.error }).toEqual({ kind, status: 400, error: 'invalid_grant' })
    }
    expect(await refusals()).toEqual(Object.keys(answers).map(() => 'invalid_grant'))
  })

  test('an assertion for one party’s application is refused when another party’s application presents it', async () => {
    const issuer = await addTrustedIssuer()
    const { partyId, agentId: id, apiKey: key } = await addParty(world)
    const theirs = await addTrustedIssuer({}, key, id)
    const evil = await addTrustedIssuer(
      { issuer: 'https://evil.example', jwksUri: 'https://evil.example/jwks' },
      key,
      id,
    )
    // Both parties trust this provider, but each assertion is for the application of the other party.
    expect((await present(theirs, await signAssertion(issuer))).json.error).toBe('invalid_grant')
    expect((await present(issuer, await signAssertion(theirs))).json.error).toBe('invalid_grant')
    // An assertion from a provider that only the other party trusts is refused.
    expect((await present(issuer, await signAssertion(issuer, { iss: 'https://evil.example' }))).json.error).toBe(
      'invalid_grant',
    )
    expect(await refusals()).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await refusals(key)).toEqual(['invalid_grant'])
    const { json } = await present(evil, await signAssertion(evil, { iss: 'https://evil.example' }))
    const { attributes } = (await world.get('/whoami', { key: String(json.access_token) })).json.data
    expect(attributes).toMatchObject({ partyId, agentId: id })
    // Another party's agent cannot be assigned to a trusted issuer.
    expectRefusal(await postIssuer(world, id), 'not_found')
  })

  test('without a trusted issuer, every assertion is refused, although the metadata lists the grant type', async () => {
    const found = await world.service.fetch(new Request(`${address}/.well-known/oauth-authorization-server`))
    expect(await found.json()).toMatchObject({
      grant_types_supported: expect.arrayContaining(['client_credentials', grant]),
      authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
    })
    const { data } = ok(await postApplication(world, agentId)).json
    const application = data.attributes as ClientCredentials
    expect((await present(application, await signAssertion(application))).json.error).toBe('invalid_request')
    const body = JSON.stringify({ redirect_uris: [], grant_types: [grant], response_types: [] })
    const headers = { 'content-type': 'application/json' }
    const request = new Request(`${address}/oauth/register`, { method: 'POST', body, headers })
    expect(await (await world.service.fetch(request)).json()).toMatchObject({ error: 'invalid_client_metadata' })
    expect(requestedUrls).toEqual([])
  })

  test('the jwksUri of a trusted issuer must be a public HTTPS URL, or a URL on this machine', async () => {
    for (const jwksUri of ['https://10.0.0.1/jwks', 'http://idp.example/jwks', 'https://metadata.internal/', 'jwks']) {
      const source = { pointer: '/data/attributes/jwksUri' }
      expectRefusal(await postIssuer(world, agentId, { jwksUri }), 'invalid_value', { status: 422, source })
    }
    ok(await postIssuer(world, agentId, { issuer: 'http://127.0.0.1:4020', jwksUri: 'http://127.0.0.1:4020/jwks' }))
  })

  test('only a party key with the dedicated scope can manage trusted issuers; an agent never can', async () => {
    const { partyId } = await world.whoami()
    const issuer = await addTrustedIssuer()
    const path = `/trusted-issuers/${issuer.id}`
    const keyWithoutScope = await addKey(world, {
      partyId,
      agentId: null,
      scopes: ['api_keys.create', 'agents.update'],
    })
    const token = String((await present(issuer, await signAssertion(issuer))).json.access_token)
    for (const key of [keyWithoutScope, world.agentKey, token]) {
      expectRefusal(await postIssuer(world, agentId, {}, { key }), 'forbidden')
      expectRefusal(await world.get('/trusted-issuers', { key }), 'forbidden')
      expectRefusal(await world.send('PATCH', path, { key, attributes: { scopes: [] } }), 'forbidden')
      expectRefusal(await world.send('DELETE', path, { key }), 'forbidden')
    }
  })
})

async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { publicKey, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}

interface ClientCredentials {
  clientId: string
  clientSecret: string
}

interface TrustedIssuer extends ClientCredentials {
  id: string
  [attribute: string]: unknown
}
