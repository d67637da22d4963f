import { afterAll, beforeAll, expect, test } from 'vitest'
import { exchange, exchanged, exchangeFields, postAgentKey, tokenType } from '../credentials/requests.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, addUserToken, createWorld, revokeKey, type World } from '../support/world.ts'

const lifetimeMs = 15 * 60_000

onEachDatabase('token exchange', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  const createAgentKey = async () => {
    const { agentId } = await world.whoami()
    return (await postAgentKey(world, String(agentId))).json.data
  }

  test('an exchanged token has the identity of its key', async () => {
    for (const key of [world.agentKey, world.apiKey]) {
      const answer = await exchange(world, exchangeFields(key))
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.json).toStrictEqual({
        access_token: expect.stringMatching(/^xt_ntl_sandbox_[\w-]{43}$/),
        issued_token_type: tokenType,
        token_type: 'Bearer',
        expires_in: 900,
      })
      const token = answer.json.access_token
      expect(await world.whoami(token)).toEqual({ ...(await world.whoami(key)), credentialKind: 'exchanged_token' })
      expect((await world.get('/wallets', { key: token })).json).toEqual((await world.get('/wallets', { key })).json)
    }
    const token = await exchanged(world, world.agentKey)
    expectRefusal(await world.get('/agents', { key: token }), 'forbidden')
    expect((await world.get('/agent-cards', { key: token })).status).toBe(200)
    expectRefusal(await world.post('/agent-cards', {}, { key: token, instanceId: null }), 'missing_instance_id', {
      source: { header: 'X-Instance-ID' },
    })
  })

  test('an exchanged token has only the scopes of its key', async () => {
    const { partyId } = await world.whoami()
    const key = await addKey(world, { partyId, agentId: null, scopes: ['wallets.read'] })
    const token = await exchanged(world, key)
    expect((await world.get('/wallets', { key: token })).status).toBe(200)
    expectRefusal(await world.get('/customers', { key: token }), 'forbidden')
  })

  test('an exchanged token is valid for 15 minutes by the real clock, even if the sandbox clock is advanced', async () => {
    const token = await exchanged(world, world.agentKey)
    await world.post('/simulations/clock/advance', { seconds: 3_600 })
    expect((await world.get('/whoami', { key: token })).status).toBe(200)
    world.system.pass(lifetimeMs - 1)
    expect((await world.get('/whoami', { key: token })).status).toBe(200)
    world.system.pass(1)
    expectRefusal(await world.get('/whoami', { key: token }), 'unauthenticated')
    // The upkeep deletes expired tokens.
    await world.service.upkeep.once()
    const left = await world.store.transaction(({ db }) => db.selectFrom('accessTokens').selectAll().execute())
    expect(left).toHaveLength(0)
  })

  test('a revoked key cannot be exchanged, but its tokens stay valid until they expire', async () => {
    const { id, attributes } = await createAgentKey()
    const token = await exchanged(world, attributes.agentKey)
    await revokeKey(world, id)
    const answer = await exchange(world, exchangeFields(attributes.agentKey))
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_grant' } })
    expectRefusal(await world.get('/whoami', { key: attributes.agentKey }), 'unauthenticated')
    expect((await world.get('/whoami', { key: token })).status).toBe(200)
    world.system.pass(lifetimeMs)
    expectRefusal(await world.get('/whoami', { key: token }), 'unauthenticated')
  })

  const fields = (change: Record<string, string | undefined>) => () => {
    const all = { ...exchangeFields(world.agentKey), ...change }
    return Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  }

  test.each([
    ['no grant type', fields({ grant_type: undefined }), 'invalid_request'],
    ['an empty grant type', fields({ grant_type: '' }), 'invalid_request'],
    ['an unsupported grant type', fields({ grant_type: 'password' }), 'unsupported_grant_type'],
    ['no subject token', fields({ subject_token: undefined }), 'invalid_request'],
    ['no subject token type', fields({ subject_token_type: undefined }), 'invalid_request'],
    ['an unsupported subject token type', fields({ subject_token_type: 'urn:example:saml2' }), 'invalid_request'],
    ['an unsupported requested token type', fields({ requested_token_type: 'urn:example:jwt' }), 'invalid_request'],
    ['an actor token', fields({ actor_token: 'x' }), 'invalid_request'],
    ['a scope', fields({ scope: 'payments.read' }), 'invalid_request'],
    ['a repeated parameter', () => [...fields({})(), ['grant_type', 'x'] as [string, string]], 'invalid_request'],
    ['an unknown key', fields({ subject_token: 'ak_ntl_sandbox_0123456789abcdef0123' }), 'invalid_grant'],
    ['a production key', fields({ subject_token: 'ak_ntl_prod_0123456789abcdef0123' }), 'invalid_grant'],
    ['a subject token that is not a key', fields({ subject_token: 'x' }), 'invalid_grant'],
  ])('a request with %s is refused as RFC 6749 requires', async (_, form, error) => {
    const answer = await exchange(world, form())
    expect(answer.status).toBe(400)
    expect(answer.json).toStrictEqual({ error, error_description: expect.stringMatching(/\S/) })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.text).not.toContain(world.agentKey)
  })

  test('the issued token type may be requested; audience and resource are ignored', async () => {
    const form = fields({ requested_token_type: tokenType, audience: 'x', resource: 'https://example.com' })()
    expect((await exchange(world, form)).status).toBe(200)
  })

  test('a JSON body and a body that is too long are refused', async () => {
    const json = await exchange(world, JSON.stringify(exchangeFields(world.agentKey)), 'application/json')
    expect(json).toMatchObject({ status: 400, json: { error: 'invalid_request' } })
    const long = await exchange(world, { ...exchangeFields(world.agentKey), more: 'x'.repeat(20_000) })
    expect(long).toMatchObject({ status: 413, json: { error: 'invalid_request' } })
  })

  test('only keys can be exchanged, not exchanged tokens or the tokens of users', async () => {
    const { partyId } = await world.whoami()
    const { token } = await addUserToken(world, partyId)
    for (const other of [token, await exchanged(world, world.agentKey)]) {
      expect((await exchange(world, exchangeFields(other))).json.error).toBe('invalid_grant')
    }
  })

  test('each exchange counts toward the rate limit of its key', async () => {
    const limited = await createWorld(database, { rateLimit: 2 })
    await exchanged(limited, limited.agentKey)
    await exchanged(limited, limited.agentKey)
    const answer = await exchange(limited, exchangeFields(limited.agentKey))
    expect(answer).toMatchObject({ status: 429, json: { error: 'temporarily_unavailable' } })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    await limited.drop()
  })
})
