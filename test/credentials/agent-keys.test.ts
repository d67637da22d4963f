import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAllRows } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { exchange, exchangeFields, postAgentKey } from './requests.ts'

const hour = 3_600_000

onEachDatabase('agent keys', (database) => {
  let world: World
  let agentId: string
  let other: OtherParty
  const owner = () => ({ key: world.apiKey })

  beforeAll(async () => {
    world = await createWorld(database)
    agentId = String((await world.whoami()).agentId)
    other = await addParty(world)
  })
  afterAll(() => world.drop())

  const createKey = async () => (await postAgentKey(world, agentId)).json.data
  const rotate = (id: string, attributes: object, sent = {}) =>
    world.post(`/agent-keys/${id}/rotate`, attributes, { ...owner(), ...sent })
  const works = async (key: string) => (await world.get('/whoami', { key })).status === 200
  const findInList = async (id: string) =>
    (await world.get('/agent-keys?limit=100', owner())).json.data.find((key: { id: string }) => key.id === id)

  test('a key is created for one agent, and its secret is shown only in the response to its creation', async () => {
    const answer = await postAgentKey(world, agentId, { attributes: { tags: { host: 'one' } }, idempotencyKey: null })
    const { partyId } = await world.whoami()
    const { agentKey, ...attributes } = answer.json.data.attributes
    expect(agentKey).toMatch(/^ak_ntl_sandbox_[\w-]{43}$/)
    expect(answer.json).toStrictEqual({
      data: {
        type: 'agentKey',
        id: expect.stringMatching(/^agk_[0-9a-f]{32}$/),
        attributes: {
          agentKey,
          agentKeyPrefix: agentKey.slice(0, 20),
          status: 'ACTIVE',
          createdAt: expect.any(String),
          lastUsedAt: null,
          revokedAt: null,
          createdBy: null,
          revokedBy: null,
          expiresAt: null,
          tags: { host: 'one' },
        },
        relationships: {
          party: { data: { type: 'party', id: partyId } },
          agent: { data: { type: 'agent', id: agentId } },
        },
      },
    })
    expect(await findInList(answer.json.data.id)).toStrictEqual({ ...answer.json.data, attributes })
    expect(await world.whoami(agentKey)).toMatchObject({
      actorType: 'agent',
      agentId,
      agentIdentitySource: 'credential',
      credentialKind: 'agent_key',
      keyId: answer.json.data.id,
    })
    const used = (await findInList(answer.json.data.id)).attributes.lastUsedAt
    expect(used).toBe(new Date(world.system.now()).toISOString())
  })

  test('several keys of one agent work at the same time, and revoking one does not end the others', async () => {
    const agent = (await world.post('/agents', { name: 'With three keys' }, owner())).json.data.id
    const made = []
    for (let count = 0; count < 3; count++) made.push((await postAgentKey(world, agent)).json.data)
    const secrets = made.map(({ attributes }) => attributes.agentKey)
    const actors = await Promise.all(secrets.map((key) => world.whoami(key)))
    expect(actors.map(({ agentId, keyId }) => [agentId, keyId])).toEqual(made.map(({ id }) => [agent, id]))
    await world.send('DELETE', `/agent-keys/${made[1].id}`, owner())
    expect(await Promise.all(secrets.map(works))).toEqual([true, false, true])
  })

  test('several keys of one agent are listed newest first and page by page', async () => {
    const agent = (await world.post('/agents', { name: 'Listed' }, owner())).json.data.id
    const ids = []
    for (let count = 0; count < 3; count++) ids.push((await postAgentKey(world, agent)).json.data.id)
    const list = await world.get(`/agent-keys?agentId=${agent}`, owner())
    expect(list.json.data.map(({ id }: { id: string }) => id)).toEqual(ids.toSorted().reverse())
    expect(list.text).not.toContain('"agentKey":')
    const first = await world.get(`/agent-keys?agentId=${agent}&limit=2`, owner())
    const { nextCursor } = first.json.meta.pagination
    const second = await world.get(`/agent-keys?agentId=${agent}&limit=2&cursor=${nextCursor}`, owner())
    expect([...first.json.data, ...second.json.data]).toEqual(list.json.data)
    expectRefusal(await world.get(`/agent-keys?cursor=${nextCursor}`, owner()), 'invalid_value', {
      source: { parameter: 'cursor' },
    })
    expect((await world.get(`/agent-keys?agentId=${other.agentId}`, owner())).json.data).toEqual([])
  })

  test.each([
    ['0 seconds', 0],
    ['one second', 1],
    ['an hour', 3_600],
    ['a day', 86_400],
  ])('after a rotation, the old key works for exactly its grace period of %s', async (_, expiresInSeconds) => {
    const { id, attributes } = await createKey()
    const answer = await rotate(id, { expiresInSeconds })
    const until = new Date(world.system.now() + expiresInSeconds * 1000).toISOString()
    const { agentKey, previousKeyExpiresAt } = answer.json.data.attributes
    expect(previousKeyExpiresAt).toBe(expiresInSeconds === 0 ? null : until)
    expect(answer.json.data.id).not.toBe(id)
    expect(agentKey).not.toBe(attributes.agentKey)
    expect(answer.json.data.relationships.agent.data.id).toBe(agentId)
    expect(await works(agentKey)).toBe(true)
    if (expiresInSeconds > 0) {
      expect((await findInList(id)).attributes).toMatchObject({ status: 'ACTIVE', expiresAt: until, revokedAt: null })
      world.system.pass(expiresInSeconds * 1000 - 1)
      expect(await works(attributes.agentKey)).toBe(true)
      world.system.pass(1)
    }
    expect(await works(attributes.agentKey)).toBe(false)
    expect((await exchange(world, exchangeFields(attributes.agentKey))).json.error).toBe('invalid_grant')
    expect((await findInList(id)).attributes).toMatchObject({ status: 'REVOKED', expiresAt: until, revokedAt: until })
    expect(await works(agentKey)).toBe(true)
  })

  test('advancing the sandbox clock to the end of the grace period ends the old key', async () => {
    const { id, attributes } = await createKey()
    await rotate(id, { expiresInSeconds: 3_600 })
    await world.post('/simulations/clock/advance', { seconds: 3_599 })
    expect(await works(attributes.agentKey)).toBe(true)
    await world.post('/simulations/clock/advance', { seconds: 1 })
    expect(await works(attributes.agentKey)).toBe(false)
  })

  test.each([
    ['no grace period', {}],
    ['a negative grace period', { expiresInSeconds: -1 }],
    ['a grace period of more than a day', { expiresInSeconds: 86_401 }],
    ['a grace period of half a second', { expiresInSeconds: 0.5 }],
    ['a string as the grace period', { expiresInSeconds: '1' }],
    ['null as the grace period', { expiresInSeconds: null }],
  ])('a key cannot be rotated with %s', async (_, attributes) => {
    const key = await createKey()
    expectRefusal(await rotate(key.id, attributes), 'invalid_value', {
      status: 422,
      source: { pointer: '/data/attributes/expiresInSeconds' },
    })
    expect(await works(key.attributes.agentKey)).toBe(true)
  })

  test('a key can be rotated only once; a replay returns the new secret again, but no row stores it', async () => {
    const { id } = await createKey()
    const sent = { idempotencyKey: `rotate ${id}` }
    const first = await rotate(id, { expiresInSeconds: 60, tags: { host: 'two' } }, sent)
    const { agentKey, tags } = first.json.data.attributes
    expect(tags).toEqual({ host: 'two' })
    const replay = await rotate(id, { expiresInSeconds: 60, tags: { host: 'two' } }, sent)
    expect(replay.headers.get('x-idempotency-replayed')).toBe('true')
    expect(replay.text).toBe(first.text)
    expect(JSON.stringify(await readAllRows(world.store))).not.toContain(agentKey.slice(20))
    expectRefusal(await rotate(id, { expiresInSeconds: 60 }), 'conflict')
    expect(await works(agentKey)).toBe(true)
  })

  test('a rotation without tags copies the tags to the new key', async () => {
    const { id } = (await postAgentKey(world, agentId, { attributes: { tags: { a: 'b' } } })).json.data
    expect((await rotate(id, { expiresInSeconds: 0 })).json.data.attributes.tags).toEqual({ a: 'b' })
  })

  test('a key stops working immediately when it is revoked, even in its grace period', async () => {
    for (const grace of [undefined, 3_600]) {
      const { id, attributes } = await createKey()
      if (grace !== undefined) await rotate(id, { expiresInSeconds: grace })
      expect(await works(attributes.agentKey)).toBe(true)
      const answer = await world.send('DELETE', `/agent-keys/${id}`, owner())
      expect(answer.json.meta).toEqual({ deleted: true })
      expect(answer.json.data.attributes).toMatchObject({ status: 'REVOKED', agentKeyPrefix: expect.any(String) })
      expect(answer.text).not.toContain('"agentKey":')
      expect(await works(attributes.agentKey)).toBe(false)
      const again = await world.send('DELETE', `/agent-keys/${id}`, owner())
      expect(again.json).toEqual(answer.json)
      expectRefusal(await rotate(id, { expiresInSeconds: 0 }), 'conflict')
    }
    world.system.pass(hour)
  })

  test('a request for a key must refer to an agent that belongs to the party and is not deleted', async () => {
    expectRefusal(await postAgentKey(world, other.agentId), 'not_found')
    expectRefusal(await postAgentKey(world, `agt_${'0'.repeat(32)}`), 'not_found')
    const deletedAgentId = (await world.post('/agents', { name: 'Gone' }, owner())).json.data.id
    await world.send('DELETE', `/agents/${deletedAgentId}`, owner())
    expectRefusal(await postAgentKey(world, deletedAgentId), 'conflict')
    const body = (data: object) => world.send('POST', '/agent-keys', { ...owner(), body: JSON.stringify({ data }) })
    for (const data of [
      { attributes: {} },
      { attributes: {}, relationships: {} },
      { attributes: { agentId }, relationships: { agent: { data: { type: 'agent', id: agentId } } } },
      { attributes: {}, relationships: { agent: { data: { type: 'party', id: agentId } } } },
      { attributes: {}, relationships: { agent: { data: null } } },
    ]) {
      expect((await body(data)).status, JSON.stringify(data)).toBe(400)
    }
  })

  test("another party's keys look as if they did not exist", async () => {
    const foreign = await world.whoami(other.agentKey)
    for (const id of [foreign.keyId, 'agk_missing']) {
      expectRefusal(await rotate(id, { expiresInSeconds: 0 }), 'not_found')
      expectRefusal(await world.send('DELETE', `/agent-keys/${id}`, owner()), 'not_found')
    }
    expect(await works(other.agentKey)).toBe(true)
    const apiKeyId = (await world.whoami(world.apiKey)).keyId
    expectRefusal(await world.send('DELETE', `/agent-keys/${apiKeyId}`, owner()), 'invalid_value', {
      source: { parameter: 'keyId' },
    })
  })
})
