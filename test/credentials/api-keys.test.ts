import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Scope, scopes } from '../../src/core/permissions.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, addParty, addUserToken, createWorld, type World } from '../support/world.ts'

onEachDatabase('API keys', (database) => {
  let world: World
  let partyId: string
  const owner = () => ({ key: world.apiKey })

  beforeAll(async () => {
    world = await createWorld(database)
    partyId = (await world.whoami()).partyId
  })
  afterAll(() => world.drop())

  const make = (attributes: object, key = world.apiKey) =>
    world.post('/api-keys', attributes, { key, idempotencyKey: null })

  test('a key is created with a name, scopes and tags, and its secret is shown only in the response', async () => {
    const answer = await make({ name: 'Reader', scopes: ['payments.read', 'agents.read'], tags: { team: 'books' } })
    const { apiKey, ...attributes } = answer.json.data.attributes
    expect(apiKey).toMatch(/^sk_ntl_sandbox_[\w-]{43}$/)
    expect(answer.json).toStrictEqual({
      data: {
        type: 'apiKey',
        id: expect.stringMatching(/^apy_[0-9a-f]{32}$/),
        attributes: {
          apiKey,
          apiKeyPrefix: apiKey.slice(0, 20),
          name: 'Reader',
          scopes: ['payments.read', 'agents.read'],
          environment: 'sandbox',
          status: 'ACTIVE',
          createdAt: new Date(world.system.now()).toISOString(),
          lastUsedAt: null,
          revokedAt: null,
          createdBy: null,
          revokedBy: null,
          tags: { team: 'books' },
        },
        relationships: { party: { data: { type: 'party', id: partyId } } },
      },
    })
    const { id } = answer.json.data
    expect((await world.get(`/api-keys/${id}`, owner())).json.data).toStrictEqual({ ...answer.json.data, attributes })
    expect(await world.whoami(apiKey)).toMatchObject({ actorType: 'party', credentialKind: 'api_key', keyId: id })
    expect((await world.get('/agents', { key: apiKey })).status).toBe(200)
    expectRefusal(await world.post('/agents', { name: 'No' }, { key: apiKey }), 'forbidden')
    const list = await world.get('/api-keys', owner())
    expect(list.text).not.toContain(apiKey)
    expect(list.text).not.toContain('"apiKey":')
  })

  test('two requests with the same idempotency key create two keys, because the header is ignored', async () => {
    const sent = { ...owner(), idempotencyKey: 'same' }
    const ids = [await world.post('/api-keys', { name: 'A' }, sent), await world.post('/api-keys', { name: 'A' }, sent)]
    expect(new Set(ids.map(({ json }) => json.data.id)).size).toBe(2)
  })

  test('without a list of scopes, a new key gets all scopes of its creator; with an empty list, none', async () => {
    const held: Scope[] = ['payments.read', 'api_keys.create']
    const limited = await addKey(world, { partyId, agentId: null, scopes: held })
    expect((await make({ name: 'Same' }, limited)).json.data.attributes.scopes.toSorted()).toEqual(held.toSorted())
    expect((await make({ name: 'None', scopes: [] }, limited)).json.data.attributes.scopes).toEqual([])
    expect((await make({ name: 'All' })).json.data.attributes.scopes).toEqual([...scopes])
    const { token, userId } = await addUserToken(world, partyId)
    const byUser = (await make({ name: 'By a user' }, token)).json.data.attributes
    expect(byUser).toMatchObject({ scopes: [...scopes], createdBy: userId })
  })

  test('a new key never gets a scope that its creator lacks', async () => {
    const held: Scope[] = ['payments.read', 'api_keys.create']
    const limited = await addKey(world, { partyId, agentId: null, scopes: held })
    const source = { pointer: '/data/attributes/scopes' }
    for (const scope of scopes) {
      const answer = await make({ name: 'More', scopes: ['payments.read', scope] }, limited)
      if (held.includes(scope)) expect(answer.status).toBe(201)
      else expectRefusal(answer, 'forbidden', { source })
    }
  })

  test.each([
    ['no name', {}, 'name'],
    ['a blank name', { name: ' ' }, 'name'],
    ['a name of 101 characters', { name: 'n'.repeat(101) }, 'name'],
    ['an unknown scope', { name: 'n', scopes: ['payments.destroy'] }, 'scopes/0'],
    ['a string instead of the list of scopes', { name: 'n', scopes: 'payments.read' }, 'scopes'],
    ['a tag that is not a string', { name: 'n', tags: { a: 1 } }, 'tags/a'],
  ])('an API key cannot be created with %s', async (_, attributes, field) => {
    const source = { pointer: `/data/attributes/${field}` }
    expectRefusal(await make(attributes), 'invalid_value', { status: 422, source })
  })

  test('a key stops working immediately when it is revoked, even if it revokes itself', async () => {
    const { id, attributes } = (await make({ name: 'Short' })).json.data
    const answer = await world.send('DELETE', `/api-keys/${id}`, { key: attributes.apiKey, idempotencyKey: 'own' })
    const now = new Date(world.system.now()).toISOString()
    expect(answer.json).toMatchObject({
      data: { id, attributes: { status: 'REVOKED', revokedAt: now, revokedBy: null } },
      meta: { deleted: true },
    })
    expect(answer.json.data.attributes).not.toHaveProperty('apiKey')
    expectRefusal(await world.get('/whoami', { key: attributes.apiKey }), 'unauthenticated')
    // The key is revoked now, so authentication fails even for a repeat of the request with which the key revoked
    // itself.
    const replay = await world.send('DELETE', `/api-keys/${id}`, { key: attributes.apiKey, idempotencyKey: 'own' })
    expectRefusal(replay, 'unauthenticated')
    expect((await world.send('DELETE', `/api-keys/${id}`, owner())).json).toEqual(answer.json)
    expectRefusal(
      await world.send('DELETE', `/api-keys/${id}`, { ...owner(), idempotencyKey: null }),
      'invalid_value',
      {
        source: { header: 'Idempotency-Key' },
      },
    )
  })

  test('keys are listed newest first and page by page, and can be filtered by status', async () => {
    const ids = async (query: string) =>
      (await world.get(`/api-keys?limit=100${query}`, owner())).json.data.map(({ id }: { id: string }) => id)
    const all = await ids('')
    const revoked = await ids('&status=REVOKED')
    expect(revoked.length).toBeGreaterThan(0)
    expect([...(await ids('&status=ACTIVE')), ...revoked].toSorted()).toEqual(all.toSorted())
    expect(all).toEqual(all.toSorted().reverse())
    const walked: string[] = []
    let cursor = ''
    do {
      const { json } = await world.get(`/api-keys?limit=3${cursor}`, owner())
      walked.push(...json.data.map(({ id }: { id: string }) => id))
      cursor = json.meta.pagination.nextCursor === null ? '' : `&cursor=${json.meta.pagination.nextCursor}`
    } while (cursor !== '')
    expect(walked).toEqual(all)
    expectRefusal(await world.get('/api-keys?status=GONE', owner()), 'invalid_value', {
      source: { parameter: 'status' },
    })
  })

  test("another party's keys look as if they did not exist", async () => {
    const other = await addParty(world)
    const { keyId } = await world.whoami(other.apiKey)
    for (const id of [keyId, 'apy_missing']) {
      expectRefusal(await world.get(`/api-keys/${id}`, owner()), 'not_found')
      expectRefusal(await world.send('DELETE', `/api-keys/${id}`, owner()), 'not_found')
    }
    expect((await world.whoami(other.apiKey)).partyId).toBe(other.partyId)
    const cursor = (await world.get('/api-keys?limit=1', owner())).json.meta.pagination.nextCursor
    expect((await world.get(`/api-keys?cursor=${cursor}`, { key: other.apiKey })).status).toBe(400)
  })
})
