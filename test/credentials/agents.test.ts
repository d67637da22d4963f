import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty, addUserToken, createWorld, type OtherParty, type World } from '../support/world.ts'
import { exchanged, postAgentKey } from './requests.ts'

onEachDatabase('agents', (database) => {
  let world: World
  let partyId: string
  let other: OtherParty
  const owner = () => ({ key: world.apiKey })

  beforeAll(async () => {
    world = await createWorld(database)
    partyId = (await world.whoami()).partyId
    other = await addParty(world)
  })
  afterAll(() => world.drop())

  const create = (attributes: object, sent = {}) => world.post('/agents', attributes, { ...owner(), ...sent })
  const change = (id: string, attributes: object, sent = {}) =>
    world.send('PATCH', `/agents/${id}`, { ...owner(), attributes, ...sent })
  const remove = (id: string, sent = {}) => world.send('DELETE', `/agents/${id}`, { ...owner(), ...sent })
  const createdAgentId = async (attributes: object = { name: 'Made' }) =>
    (await create(attributes)).json.data.id as string
  const read = async (id: string) => (await world.get(`/agents/${id}`, owner())).json.data.attributes

  test('an agent is created with the values in the request, and reads return the same values', async () => {
    const limits = { perTransaction: 1_000, perDay: null }
    const answer = await create({ name: 'Buyer', description: 'Buys', tags: { a: 'b' }, slug: 'buyer', limits })
    const now = new Date(world.system.now()).toISOString()
    expect(answer.json).toStrictEqual({
      data: {
        type: 'agent',
        id: expect.stringMatching(/^agt_[0-9a-f]{32}$/),
        attributes: {
          name: 'Buyer',
          description: 'Buys',
          status: 'ACTIVE',
          tags: { a: 'b' },
          handle: '@sandbox-buyer',
          limits: { perTransaction: 1_000, perDay: null, perMonth: null },
          createdAt: now,
          createdBy: null,
          updatedAt: now,
          updatedBy: null,
          lastActiveAt: null,
        },
        relationships: { party: { data: { type: 'party', id: partyId } } },
      },
    })
    expect((await world.get(`/agents/${answer.json.data.id}`, owner())).json).toEqual(answer.json)
    const plain = await create({ name: 'Plain' })
    expect(plain.json.data.attributes).toMatchObject({ description: null, tags: {}, handle: null, limits: null })
  })

  test('a new agent can issue cards on the default wallet; a wallet that is chosen for it must belong to the party', async () => {
    const { agentKey } = (await postAgentKey(world, await createdAgentId())).json.data.attributes
    const card = await world.issueCard({}, { key: agentKey })
    expect((await world.get(`/agent-cards/${card}`, { key: agentKey })).status).toBe(200)
    const wallet = (await world.get('/wallets', owner())).json.data[0].id
    const named = await create({ name: 'Named', walletId: wallet })
    expect(named.status).toBe(201)
    const source = { pointer: '/data/attributes/walletId' }
    for (const walletId of [other.walletId, 'wal_missing']) {
      expectRefusal(await create({ name: 'Foreign', walletId }), 'not_found', { source })
    }
  })

  test('an agent shows when its key was last used', async () => {
    const id = await createdAgentId()
    const { agentKey } = (await postAgentKey(world, id)).json.data.attributes
    expect((await read(id)).lastActiveAt).toBeNull()
    await world.get('/whoami', { key: agentKey })
    expect((await read(id)).lastActiveAt).toBe(new Date(world.system.now()).toISOString())
  })

  test('an update changes only the attributes that the request contains', async () => {
    const id = await createdAgentId({
      name: 'One',
      description: 'Old',
      tags: { a: '1', b: '2' },
      limits: { perDay: 5 },
    })
    const { token, userId } = await addUserToken(world, partyId)
    world.system.pass(1000)
    const now = new Date(world.system.now()).toISOString()
    const renamed = await change(id, { name: 'Two' }, { key: token })
    expect(renamed.json.data.attributes).toMatchObject({
      name: 'Two',
      description: 'Old',
      tags: { a: '1', b: '2' },
      limits: { perTransaction: null, perDay: 5, perMonth: null },
      updatedAt: now,
      updatedBy: userId,
    })
    const attributes = async (sent: object) => (await change(id, sent)).json.data.attributes
    expect((await attributes({ name: null })).name).toBe('Two')
    expect((await attributes({ description: null })).description).toBeNull()
    expect((await attributes({ tags: { a: null, c: '3' } })).tags).toEqual({ b: '2', c: '3' })
    const limits = { perTransaction: null, perDay: null, perMonth: 7 }
    expect((await attributes({ limits: { perMonth: 7 } })).limits).toEqual(limits)
    expect((await attributes({})).limits).toEqual(limits)
    expect((await attributes({ limits: {} })).limits).toBeNull()
    await attributes({ limits: { perDay: 1 } })
    expect((await attributes({ limits: null })).limits).toBeNull()
    expect(await read(id)).toMatchObject({ name: 'Two', description: null, tags: { b: '2', c: '3' }, limits: null })
  })

  test("an agent's handle is unique and changes with its slug", async () => {
    const id = await createdAgentId({ name: 'Slug', slug: 'first' })
    const source = { pointer: '/data/attributes/slug' }
    expectRefusal(await create({ name: 'Again', slug: 'first' }), 'conflict', { source })
    expect((await change(id, { slug: 'first' })).status).toBe(200)
    expect((await change(id, { slug: 'second' })).json.data.attributes.handle).toBe('@sandbox-second')
    const next = await createdAgentId({ name: 'Next', slug: 'first' })
    expectRefusal(await change(next, { slug: 'second' }), 'conflict', { source })
    await remove(id)
    expect((await change(next, { slug: 'second' })).json.data.attributes.handle).toBe('@sandbox-second')
    for (const slug of [null, '', '-a', 'a-', 'A', 'a b', 'a--b', 'a'.repeat(41)]) {
      expectRefusal(await change(next, { slug }), 'invalid_value', { status: 422, source })
    }
    // An agent's handle begins with the handle of its party. The other party has no handle, so its agents cannot have
    // handles.
    expectRefusal(await create({ name: 'N', slug: 'x' }, { key: other.apiKey }), 'invalid_value', {
      status: 422,
      source,
    })
  })

  test.each([
    ['no name', {}, 'name'],
    ['a negative limit', { name: 'n', limits: { perDay: -1 } }, 'limits/perDay'],
    ['a fractional limit', { name: 'n', limits: { perMonth: 0.5 } }, 'limits/perMonth'],
    ['tags that are not an object', { name: 'n', tags: ['a'] }, 'tags'],
    ['too many tags', { name: 'n', tags: Object.fromEntries([...Array(51).keys()].map((n) => [`t${n}`, ''])) }, 'tags'],
  ])('an agent cannot be created with %s', async (_, attributes, field) => {
    const source = { pointer: `/data/attributes/${field}` }
    expectRefusal(await create(attributes), 'invalid_value', { status: 422, source })
  })

  test('an agent loses its keys, tokens, grants and pending invitations when it is deleted', async () => {
    const id = await createdAgentId({ name: 'Retired' })
    const keys: string[] = []
    for (let count = 0; count < 2; count++) keys.push((await postAgentKey(world, id)).json.data.attributes.agentKey)
    const token = await exchanged(world, String(keys[0]))
    await addDelegation(world, { customerPartyId: other.partyId, agentPartyId: partyId, agentId: id })
    const invited = await world.post(
      '/customers/invitations',
      {
        recipients: [{ type: 'email', value: 'someone@example.com' }],
        agents: [{ agentId: id, permissions: ['payments.read'] }],
      },
      owner(),
    )
    expect(invited.status, invited.text).toBe(201)
    const answer = await remove(id, { idempotencyKey: 'retire' })
    expect(answer.json).toMatchObject({
      data: { id, attributes: { status: 'REVOKED', handle: null } },
      meta: { deleted: true },
    })
    for (const key of [...keys, token]) expectRefusal(await world.get('/whoami', { key }), 'unauthenticated')
    const listed = (await world.get(`/agent-keys?agentId=${id}`, owner())).json.data
    expect(listed.map(({ attributes }: { attributes: { status: string } }) => attributes.status)).toEqual([
      'REVOKED',
      'REVOKED',
    ])
    await world.store.transaction(async ({ db }) => {
      const grants = await db.selectFrom('delegations').selectAll().where('agentId', '=', id).execute()
      expect(grants).toMatchObject([{ status: 'REVOKED', revokedAtMs: world.system.now() }])
      const invitations = await db.selectFrom('customerInvitations').selectAll().where('agentId', '=', id).execute()
      expect(invitations).toMatchObject([{ status: 'CANCELED', cancelReason: 'AGENT_RETIRED' }])
    })
    expect((await remove(id, { idempotencyKey: 'retire' })).text).toBe(answer.text)
    expect((await remove(id)).json).toEqual(answer.json)
    expectRefusal(await change(id, { name: 'Back' }), 'conflict')
  })

  test('agents are listed newest first and can be filtered by status', async () => {
    const ids = async (query: string) =>
      (await world.get(`/agents?limit=100${query}`, owner())).json.data.map(({ id }: { id: string }) => id)
    const all = await ids('')
    expect(all).toEqual(all.toSorted().reverse())
    expect([...(await ids('&status=ACTIVE')), ...(await ids('&status=REVOKED'))].toSorted()).toEqual(all.toSorted())
    expect(all).not.toContain(other.agentId)
  })

  test("another party's agents look as if they did not exist", async () => {
    for (const id of [other.agentId, `agt_${'0'.repeat(32)}`]) {
      expectRefusal(await world.get(`/agents/${id}`, owner()), 'not_found')
      expectRefusal(await change(id, { name: 'Mine' }), 'not_found')
      expectRefusal(await remove(id), 'not_found')
    }
    expect((await world.whoami(other.agentKey)).agentId).toBe(other.agentId)
  })
})
