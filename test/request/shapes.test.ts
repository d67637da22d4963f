import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
const toOne = (type: string, prefix: string) => ({ data: { type, id: id(prefix) } })

onEachDatabase('the shapes of resources', (database) => {
  let world: World
  let authorized: string

  beforeAll(async () => {
    world = await createWorld(database)
    authorized = (await world.authorize(await world.issueCard(), 1000)).json.data.id
  })
  afterAll(() => world.drop())

  test('a card has exactly the documented properties', async () => {
    const answer = await world.post('/agent-cards', card)
    expect(answer.json).toStrictEqual({
      data: {
        type: 'agentCard',
        id: id('pcd'),
        attributes: {
          status: 'active',
          ...card,
          expiresAt: timestamp,
          agentId: id('agt'),
          instanceId: 'run 1',
          createdAt: timestamp,
          updatedAt: timestamp,
        },
        relationships: {
          party: toOne('party', 'pty'),
          wallet: toOne('wallet', 'wal'),
          agent: toOne('agent', 'agt'),
        },
      },
    })
    expect((await world.get(`/agent-cards/${answer.json.data.id}`)).text).toBe(answer.text)
  })

  test('a card transaction has exactly the documented properties', async () => {
    const answer = await world.get(`/card-transactions/${authorized}`)
    expect(answer.json).toStrictEqual({
      data: {
        type: 'cardTransaction',
        id: authorized,
        attributes: {
          kind: 'purchase',
          status: 'authorized',
          amount: 1000,
          currency: 'USD',
          merchant: { name: 'Books' },
          held: 1000,
          captured: 0,
          refunded: 0,
          decline: null,
          holdExpiresAt: timestamp,
          agentId: id('agt'),
          instanceId: 'run 1',
          createdAt: timestamp,
          updatedAt: timestamp,
        },
        relationships: {
          agentCard: toOne('agentCard', 'pcd'),
          purchase: { data: null },
          party: toOne('party', 'pty'),
          wallet: toOne('wallet', 'wal'),
        },
      },
    })
  })

  test('a list has exactly the properties data and meta.pagination', async () => {
    for (const path of ['/wallets', '/customers', '/agent-cards', '/card-transactions']) {
      const { status, json } = await world.get(path)
      expect(status).toBe(200)
      expect(json).toStrictEqual({
        data: expect.any(Array),
        meta: { pagination: { hasMore: false, nextCursor: null } },
      })
      expect(json.data.length).toBeGreaterThan(0)
      for (const item of json.data) expect(item).toMatchObject({ type: expect.any(String), id: expect.any(String) })
    }
  })

  test('a wallet and a customer have the documented types, ids and attributes', async () => {
    const wallets = await world.get('/wallets')
    expect(wallets.json.data[0]).toMatchObject({
      type: 'wallet',
      id: id('wal'),
      attributes: { balance: { available: 249_000, total: 250_000, currency: 'USD' } },
      relationships: { party: toOne('party', 'pty') },
    })
    const customers = await world.get('/customers')
    expect(customers.json.data[0]).toMatchObject({ type: 'customer', id: id('pty') })
    expect(customers.json.data[0].attributes.agents[0]).toMatchObject({ id: id('agt'), status: 'ACTIVE' })
  })
})
