import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bankActions } from '../bank-transfers/bank.ts'
import { created, ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { buy, dayMs, letPass, shopOf } from '../shops/shopping.ts'
import { merchant, weekly } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import {
  type Answer,
  addParty,
  anotherProcess,
  createWorld,
  type OtherParty,
  type Sent,
  type World,
} from '../support/world.ts'
import { type SleepingSystem, sleepingSystem } from './clock.ts'

let emailCount = 0

/** Returns a counterparty with an unused email address. */
const somebody = () => ({ type: 'email', value: `claims${emailCount++}@example.com` })

/** The operations that can wait, each with a function that creates a record and a function that changes its status. */
const waitable = {
  get_payment: {
    path: (id: string) => `/payments/${id}`,
    open: async (world: World) => created(await payer(world).pay(10, somebody())),
    change: async (world: World, id: string) => ok(await payer(world).claim(id)),
    from: 'PENDING_CLAIM',
    to: 'COMPLETED',
  },
  get_payment_request: {
    path: (id: string) => `/payment-requests/${id}`,
    open: async (world: World) => {
      const answer = await world.post('/payment-requests', { amount: 10, payer: somebody() })
      return answer.json.data.id as string
    },
    change: async (world: World, id: string) =>
      ok(await world.send('POST', `/simulations/payment-requests/${id}/decline`)),
    from: 'OPEN',
    to: 'DECLINED',
  },
  get_transfer: {
    path: (id: string) => `/transfers/${id}`,
    open: async (world: World) => (await bankActions(world).withdraw(10, await bankActions(world).link())).id as string,
    change: async (world: World, id: string) => ok(await bankActions(world).simulate(id, 'settle')),
    from: 'PROCESSING',
    to: 'COMPLETED',
  },
  get_approval: {
    path: (id: string) => `/approvals/${id}`,
    open: async (world: World) => {
      const self = payer(world)
      const { agentId } = await world.whoami()
      await self.setLimits('agents', agentId ?? '', { perTransaction: 1000 })
      const id = created(await self.pay(1001, somebody()))
      await self.setLimits('agents', agentId ?? '', null)
      return (await self.approvalOf(id)).id as string
    },
    change: async (world: World, id: string) => ok(await payer(world).deny(id, undefined, { key: world.apiKey })),
    from: 'pending',
    to: 'denied',
  },
  get_card_transaction: {
    path: (id: string) => `/card-transactions/${id}`,
    open: async (world: World) => ok(await world.authorize(await world.issueCard(), 10)).json.data.id as string,
    change: async (world: World, id: string) =>
      ok(await world.post(`/simulations/card-transactions/${id}/reverse`, {}, { key: world.apiKey })),
    from: 'authorized',
    to: 'reversed',
  },
  get_subscription: {
    path: (id: string) => `/subscriptions/${id}`,
    open: (world: World) => merchant(world).create(weekly),
    change: async (world: World, id: string) => ok(await merchant(world).checkout(id)),
    from: 'pending',
    to: 'active',
  },
  get_agent_card: {
    path: (id: string) => `/agent-cards/${id}`,
    open: (world: World) => world.issueCard(),
    change: async (world: World, id: string) => ok(await world.authorize(id, 10)),
    from: 'active',
    to: 'used',
  },
  get_shop_order: {
    path: (id: string) => `/simulations/shop-orders/${id}`,
    open: async (world: World) => {
      const books = { items: [{ productId: 'atlas-of-rivers' }] }
      return (await buy(world, shopOf('ships-later'), books)).attributes.orderId as string
    },
    change: async (world: World) => letPass(world, 2 * dayMs),
    from: 'placed',
    to: 'shipped',
  },
} as const

const operations = Object.entries(waitable)

let keyCount = 0

/**
 * Returns a client of a second process. Its idempotency keys differ from the keys that the test sends to the first
 * process.
 */
function createClient(world: World): World {
  const withKey = (sent: Sent = {}) => ({ idempotencyKey: `there ${keyCount++}`, ...sent })
  const send: World['send'] = (method, path, sent) => world.send(method, path, withKey(sent))
  const post: World['post'] = (path, attributes, sent) => world.post(path, attributes, withKey(sent))
  const charge = { currency: 'USD', merchant: { name: 'Books' } }
  const authorize: World['authorize'] = (id, amount) =>
    post(`/simulations/agent-cards/${id}/authorize`, { amount, ...charge })
  return { ...world, send, post, authorize }
}

const status = (answer: Answer) => ok(answer).json.data.attributes.status as string

onEachDatabase('requests that wait', (database) => {
  let world: World
  let other: OtherParty
  let system: SleepingSystem

  beforeAll(async () => {
    system = sleepingSystem()
    world = await createWorld(database, { system })
    other = await addParty(world)
  })
  // Ends waits that a failed test left behind, so that they do not disturb other tests.
  afterEach(() => system.pass(60_000))
  afterAll(async () => {
    await world.service.waits.close()
    await world.drop()
  })

  const waits = (path: string, seconds: number | string = 50, sent?: object) =>
    world.get(`${path}?waitSeconds=${seconds}`, sent)

  describe.each(operations)('%s with waitSeconds', (name, { path, open, change, from, to }) => {
    test('a wait is answered when the status changes, and immediately if the status is final', async () => {
      const id = await open(world)
      const waiting = waits(path(id))
      await system.sleepers(1)
      await change(world, id)
      expect(status(await waiting)).toBe(to)
      expect(system.sleeping).toBe(0)
      if (to !== 'active') expect(status(await waits(path(id)))).toBe(to)
    })

    test('a wait is answered with the current state when its time is up', async () => {
      const id = await open(world)
      const waiting = waits(path(id), 7)
      await system.sleepers(1)
      system.pass(6_999)
      expect(system.sleeping).toBe(1)
      system.pass(1)
      expect(status(await waiting)).toBe(from)
      expect(status(await waits(path(id), 0))).toBe(from)
    })

    // Without signals from other processes, a process polls the database once a second by the real clock. This takes
    // time, so only the deep run tests all operations.
    test.skipIf(!isDeep && name !== 'get_payment')(
      'a wait is answered when another process on the same database changes the status',
      async () => {
        const id = await open(world)
        const otherProcess = await anotherProcess(world, system)
        const waiting = waits(path(id))
        await system.sleepers(1)
        await change(createClient(otherProcess), id)
        expect(status(await waiting)).toBe(to)
        await otherProcess.drop()
      },
    )
  })

  test('a wait continues when other records change, and the rate limit counts it as one request', async () => {
    const { path, open } = waitable.get_card_transaction
    const id = await open(world)
    const before = Number((await world.get('/whoami')).headers.get('x-ratelimit-remaining'))
    const waiting = waits(path(id))
    await system.sleepers(1)
    await world.issueCard()
    system.pass(50_000)
    const answer = await waiting
    expect(status(answer)).toBe('authorized')
    expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBe(before - 1)
  })

  test('a wait ends when any request applies a due effect to the record', async () => {
    const { path, open } = waitable.get_card_transaction
    const waiting = waits(path(await open(world)))
    await system.sleepers(1)
    ok(await world.post('/simulations/clock/advance', { seconds: 8 * 86_400 }, { key: other.apiKey }))
    expect(status(await waiting)).toBe('reversed')
    const card = waits(waitable.get_agent_card.path(await world.issueCard()))
    await system.sleepers(1)
    ok(await world.post('/simulations/clock/advance', { seconds: 3000 * 86_400 }, { key: other.apiKey }))
    expect(status(await card)).toBe('expired')
  })

  test('a wait for a card ends without another request when the card expires by the sandbox clock', async () => {
    const { path } = waitable.get_agent_card
    const id = await world.issueCard({ expiresInMinutes: 5 })
    ok(await world.post('/simulations/clock/advance', { seconds: 270 }, { key: world.apiKey }))
    const waiting = waits(path(id))
    await system.sleepers(1)
    system.pass(29_999)
    expect(system.sleeping).toBe(1)
    system.pass(1)
    expect(status(await waiting)).toBe('expired')
  })

  test.each(['51', '-1', '1.5', 'soon', ''])('the value “%s” of waitSeconds is refused', async (seconds) => {
    const { path, open } = waitable.get_agent_card
    const answer = await waits(path(await open(world)), seconds)
    expectRefusal(answer, 'invalid_value', { status: 400, source: { parameter: 'waitSeconds' } })
  })

  test('a wait for another party’s record is refused immediately', async () => {
    for (const [, { path, open }] of operations) {
      const answer = await waits(path(await open(world)), 50, { key: other.agentKey })
      expectRefusal(answer, 'not_found')
    }
    expect(system.sleeping).toBe(0)
  })
})
