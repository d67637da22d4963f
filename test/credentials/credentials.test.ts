import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { permissions } from '../../src/core/permissions.ts'
import { readAllRows } from '../ledger/books.ts'
import { expectRefusal, withoutSupportId } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addKey, createWorld, revokeKey, secrets, type World } from '../support/world.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const money = { amount: 100, currency: 'USD' }
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))

onEachDatabase('credentials', (database) => {
  let world: World
  let cardId: string
  let walletId: string
  let partyId: string

  beforeAll(async () => {
    world = await createWorld(database)
    cardId = await world.issueCard()
    walletId = (await world.get('/wallets')).json.data[0].id
    partyId = (await world.whoami()).partyId
  })
  afterAll(() => world.drop())

  const simulations = () => [
    [`/simulations/agent-cards/${cardId}/authorize`, { ...money, merchant: { name: 'Books' } }] as const,
    ['/simulations/card-transactions/cit_1/capture', money] as const,
    ['/simulations/card-transactions/cit_1/reverse', {}] as const,
    ['/simulations/card-transactions/cit_1/expire', {}] as const,
    ['/simulations/card-transactions/cit_1/refund', money] as const,
  ]

  const reads = () => [
    '/whoami',
    '/wallets',
    `/wallets/${walletId}`,
    '/customers',
    '/agent-cards',
    `/agent-cards/${cardId}`,
    `/agent-cards/${cardId}/details`,
    '/card-transactions',
    '/simulations/clock',
  ]

  describe('invalid credentials', () => {
    test.each([
      ['no Authorization header', null],
      ['an empty Authorization header', ''],
      ['an unsupported authentication scheme', 'Basic c2s6'],
      ['a key without an authentication scheme', () => world.agentKey],
      ['two credentials', () => `Bearer ${world.agentKey} ${world.apiKey}`],
      ['a credential that is too long', `Bearer ak_ntl_sandbox_${'a'.repeat(600)}`],
      ['an unknown agent key', 'Bearer ak_ntl_sandbox_0123456789abcdef0123456789'],
      ['an unknown API key', 'Bearer sk_ntl_sandbox_0123456789abcdef0123456789'],
      ['a truncated key', () => `Bearer ${world.agentKey.slice(0, -1)}`],
      ['a key in capital letters', () => `Bearer ${world.agentKey.toUpperCase()}`],
      ['a key without its prefix', `Bearer ${secrets.agentKey}`],
      ['the secret of an agent key after the prefix of an API key', `Bearer sk_ntl_sandbox_${secrets.agentKey}`],
      ['a production key', `Bearer ak_ntl_prod_${secrets.agentKey}`],
      ['a key of an unknown environment', `Bearer ak_ntl_staging_${secrets.agentKey}`],
      ['a stored placeholder instead of a key', 'Bearer unset agent key'],
    ])('a request with %s gets 401 from every operation, whatever else is wrong', async (_, authorization) => {
      const value = typeof authorization === 'function' ? authorization() : authorization
      const headers: Record<string, string> = { 'Content-Type': 'application/json' }
      if (value !== null) headers.Authorization = value
      const request = async (method: string, path: string, body?: string) => {
        const init = { method, headers, ...(body === undefined ? {} : { body }) }
        const response = await world.service.fetch(new Request(`http://sandbox.test${path}`, init))
        const text = await response.text()
        return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
      }
      const answers = [
        ...(await Promise.all(reads().map((path) => request('GET', path)))),
        ...(await Promise.all(simulations().map(([path]) => request('POST', path, '{"data":')))),
        await request('POST', '/agent-cards', JSON.stringify({ data: { attributes: card } })),
        await request('GET', '/agent-cards/pcd_missing'),
      ]
      for (const answer of answers) {
        expectRefusal(answer, 'unauthenticated')
        expect(withoutSupportId(answer)).toEqual(withoutSupportId(answers[0] as (typeof answers)[number]))
        expect(answer.headers.get('x-ratelimit-limit')).toBeNull()
      }
    })

    test('a revoked key gets 401 immediately', async () => {
      const key = await addKey(world, { partyId, agentId: null, scopes: ['wallets.read'] })
      expect((await world.get('/wallets', { key })).status).toBe(200)
      await revokeKey(world, (await world.whoami(key)).keyId)
      expectRefusal(await world.get('/wallets', { key }), 'unauthenticated')
    })

    test('a key gets 401 from its expiry time on, by the sandbox clock', async () => {
      const key = await addKey(world, { partyId, agentId: null, scopes: ['wallets.read'] })
      const { keyId } = await world.whoami(key)
      const expiresAtMs = Date.parse((await world.get('/simulations/clock')).json.data.attributes.now) + 60_000
      await world.store.transaction(async ({ db }) => {
        await db.updateTable('credentials').set({ expiresAtMs }).where('id', '=', keyId).execute()
      })
      world.system.pass(59_999)
      expect((await world.get('/wallets', { key })).status).toBe(200)
      world.system.pass(1)
      expectRefusal(await world.get('/wallets', { key }), 'unauthenticated')
    })

    test('a key of a revoked agent gets 401', async () => {
      const { agentId, agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read'])
      expect((await world.get('/wallets', { key })).status).toBe(200)
      await world.store.transaction(async ({ db }) => {
        await db.updateTable('agents').set({ status: 'REVOKED' }).where('id', '=', agentId).execute()
      })
      expectRefusal(await world.get('/wallets', { key }), 'unauthenticated')
    })

    test('a sandbox key gets 401 in production', async () => {
      const production = await createWorld(database, { environment: 'production' })
      const { partyId, agentId } = await production.whoami()
      const sandboxKey = await addKey({ ...production, environment: 'sandbox' }, { partyId, agentId, scopes: null })
      for (const key of [world.agentKey, world.apiKey, sandboxKey]) {
        expectRefusal(await production.get('/whoami', { key }), 'unauthenticated')
      }
      await production.drop()
    })
  })

  test('keys are stored only as hashes', async () => {
    const key = await addKey(world, { partyId, agentId: null, scopes: [] })
    await world.get('/whoami', { key })
    const all = JSON.stringify(await readAllRows(world.store))
    expect(all).toContain(partyId)
    for (const secret of [secrets.agentKey, secrets.apiKey, key.slice('sk_ntl_sandbox_'.length)]) {
      expect(all).not.toContain(secret)
    }
  })

  test('whoami returns the identity of an agent key and of an API key', async () => {
    const agent = await world.get('/whoami')
    expect(agent.json).toStrictEqual({
      data: {
        type: 'whoami',
        id: partyId,
        attributes: {
          actorType: 'agent',
          partyId: id('pty'),
          userId: null,
          agentId: id('agt'),
          agentIdentitySource: 'credential',
          credentialKind: 'agent_key',
          keyId: id('agk'),
          grantId: null,
        },
      },
    })
    const party = await world.get('/whoami', { key: world.apiKey })
    expect(party.json).toStrictEqual({
      data: {
        type: 'whoami',
        id: partyId,
        attributes: {
          actorType: 'party',
          partyId,
          userId: null,
          agentId: null,
          agentIdentitySource: null,
          credentialKind: 'api_key',
          keyId: id('apy'),
          grantId: null,
        },
      },
    })
  })

  describe('API keys', () => {
    test('an API key never acts as an agent, whatever its scopes and headers', async () => {
      const { agentId } = await world.whoami()
      const headers = { 'X-Agent-ID': String(agentId), 'X-Agent-Id': String(agentId) }
      expectRefusal(await world.post('/agent-cards', card, { key: world.apiKey, headers }), 'forbidden')
      expect((await world.whoami(world.apiKey)).agentId).toBeNull()
      // In the answer of `whoami`, the agent is the one that the header names, but the caller is still the party.
      const named = await world.get('/whoami', { key: world.apiKey, headers: { 'X-Agent-ID': String(agentId) } })
      const identity = { actorType: 'party', agentId, agentIdentitySource: 'header', credentialKind: 'api_key' }
      expect(named.json.data.attributes).toMatchObject(identity)
      const foreign = { 'X-Agent-ID': `agt_${'0'.repeat(32)}` }
      expectRefusal(await world.get('/whoami', { key: world.apiKey, headers: foreign }), 'forbidden', {
        source: { header: 'X-Agent-ID' },
      })
    })

    test.each([
      ['wallets.read', ['/wallets', '/wallets/{wallet}']],
      ['delegations.read', ['/customers']],
      [
        'cards.read',
        [
          '/agent-cards',
          '/agent-cards/{card}',
          '/agent-cards/{card}/details',
          '/card-transactions',
          '/card-transactions/{transaction}',
        ],
      ],
    ])('an API key can read the resources of the scope %s only with that scope', async (scope, paths) => {
      const transaction = (await world.authorize(await world.issueCard(), 100)).json.data.id
      const others = ['payments.create', 'wallets.read', 'delegations.read', 'cards.read'].filter(
        (name) => name !== scope,
      )
      const key = await addKey(world, { partyId, agentId: null, scopes: [scope] })
      const without = await addKey(world, { partyId, agentId: null, scopes: others })
      for (const template of paths) {
        const path = template
          .replace('{wallet}', walletId)
          .replace('{card}', cardId)
          .replace('{transaction}', transaction)
        expect((await world.get(path, { key })).status, path).toBe(200)
        expectRefusal(await world.get(path, { key: without }), 'forbidden')
      }
    })

    test('an API key can simulate purchases only with the scope payments.create', async () => {
      const key = await addKey(world, { partyId, agentId: null, scopes: ['payments.create'] })
      const without = await addKey(world, {
        partyId,
        agentId: null,
        scopes: ['cards.read', 'payments.read', 'wallets.read'],
      })
      for (const [path, attributes] of simulations()) {
        expectRefusal(await world.post(path, attributes, { key: without }), 'forbidden')
      }
      const ids = [await world.issueCard(), await world.issueCard(), await world.issueCard()]
      const purchases = await Promise.all(
        ids.map(async (card) => (await world.authorize(card, 100, { key })).json.data.id),
      )
      const act = (purchase: string | undefined, action: string, attributes: object) =>
        world.post(`/simulations/card-transactions/${purchase}/${action}`, attributes, { key })
      expect((await act(purchases[0], 'capture', money)).status).toBe(200)
      expect((await act(purchases[0], 'refund', money)).status).toBe(200)
      expect((await act(purchases[1], 'reverse', {})).status).toBe(200)
      expect((await act(purchases[2], 'expire', {})).status).toBe(200)
    })

    test('an API key needs no scope to read its own identity, or to read and advance the clock', async () => {
      const key = await addKey(world, { partyId, agentId: null, scopes: [] })
      expect((await world.get('/whoami', { key })).status).toBe(200)
      expect((await world.get('/simulations/clock', { key })).status).toBe(200)
      expect((await world.post('/simulations/clock/advance', { seconds: 1 }, { key })).status).toBe(200)
    })
  })

  test('the fixed agent policy allows agents to read wallets and customers, and to use cards and the clock', () => {
    const policy = Object.fromEntries(Object.entries(permissions).map(([name, { agent }]) => [name, agent !== null]))
    expect(policy).toMatchObject({
      'identity.read': true,
      'wallets.read': true,
      'customers.read': true,
      'cards.issue': true,
      'cards.read': true,
      'cards.freeze': true,
      'cards.simulate': true,
      'clock.use': true,
    })
  })

  describe('the run ID', () => {
    test('X-Instance-ID is required from agents that issue cards or simulate purchases', async () => {
      for (const instanceId of [null, '', '   ']) {
        const source = { header: 'X-Instance-ID' }
        expectRefusal(await world.post('/agent-cards', card, { instanceId }), 'missing_instance_id', { source })
        for (const [path, attributes] of simulations()) {
          expectRefusal(await world.post(path, attributes, { instanceId }), 'missing_instance_id', { source })
        }
      }
    })

    test('X-Instance-ID is optional for API keys, and for agents that read data or advance the clock', async () => {
      for (const path of reads()) expect((await world.get(path, { instanceId: null })).status, path).toBe(200)
      expect((await world.post('/simulations/clock/advance', { seconds: 1 }, { instanceId: null })).status).toBe(200)
      const answer = await world.authorize(await world.issueCard(), 100, { key: world.apiKey, instanceId: null })
      expect(answer.json.data.attributes).toMatchObject({ status: 'authorized', agentId: null, instanceId: null })
    })

    test('X-Instance-ID has at most 1024 characters', async () => {
      const longest = 'r'.repeat(1024)
      const issued = await world.post('/agent-cards', card, { instanceId: longest })
      expect(issued.json.data.attributes.instanceId).toBe(longest)
      const source = { header: 'X-Instance-ID' }
      expectRefusal(await world.post('/agent-cards', card, { instanceId: `${longest}r` }), 'invalid_value', { source })
      for (const [path, attributes] of simulations()) {
        const answer = await world.post(path, attributes, { instanceId: `${longest}r`, key: world.apiKey })
        expectRefusal(answer, 'invalid_value', { source })
      }
    })

    test('X-Instance-ID is stored on every record that the request creates', async () => {
      const { agentId } = await world.whoami()
      const card = await world.issueCard({}, { instanceId: 'run issue' })
      const purchase = await world.authorize(card, 500, { instanceId: 'run buy' })
      const path = `/simulations/card-transactions/${purchase.json.data.id}`
      await world.post(`${path}/capture`, { amount: 500, currency: 'USD' }, { instanceId: 'run capture' })
      const refund = await world.post(`${path}/refund`, { amount: 5, currency: 'USD' }, { instanceId: 'run refund' })
      const cause = async (path: string) => {
        const { agentId, instanceId } = (await world.get(path)).json.data.attributes
        return { agentId, instanceId }
      }
      expect(await cause(`/agent-cards/${card}`)).toEqual({ agentId, instanceId: 'run issue' })
      expect(await cause(`/card-transactions/${purchase.json.data.id}`)).toEqual({ agentId, instanceId: 'run buy' })
      expect(await cause(`/card-transactions/${refund.json.data.id}`)).toEqual({ agentId, instanceId: 'run refund' })
    })
  })
})
