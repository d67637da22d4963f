import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createService, type Service } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { StaleWriteError, type Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase, postgres } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }

function limits({ headers }: Answer): (number | null)[] {
  return ['limit', 'remaining', 'reset'].map((name) => {
    const value = headers.get(`x-ratelimit-${name}`)
    if (value !== null) expect(value).toMatch(/^\d+$/)
    return value === null ? null : Number(value)
  })
}

onEachDatabase('rate limits', (database) => {
  let world: World
  let limit: number

  beforeEach(async () => {
    limit = 12
    world = await createWorld(database, { rateLimit: limit })
  })
  afterEach(async () => {
    await world.drop()
  })

  test('every answer to an authenticated caller has rate-limit headers', async () => {
    const sent = { idempotencyKey: 'one' }
    const answers = [
      await world.get('/whoami'),
      await world.post('/agent-cards', card, sent),
      await world.post('/agent-cards', card, sent),
      await world.post('/agent-cards', { ...card, maximumAmount: 0 }),
      await world.post('/agent-cards', { ...card, colour: 'red' }),
      await world.post('/agent-cards', card, { idempotencyKey: null }),
      await world.post('/agent-cards', card, { instanceId: null }),
      await world.send('POST', '/agent-cards', { body: '{' }),
      await world.get('/agent-cards/pcd_missing'),
      await world.get(`/wallets?customerPartyId=pty_${'0'.repeat(32)}`),
      await world.post('/agent-cards', { ...card, maximumAmount: 1 }, sent),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 422, 400, 400, 400, 400, 404, 403, 409])
    expect(answers[2]?.headers.get('x-idempotency-replayed')).toBe('true')
    const now = Math.floor(world.system.now() / 1000)
    for (const [index, answer] of answers.entries()) {
      const [maximum, remaining, reset] = limits(answer)
      expect([maximum, remaining]).toEqual([limit, limit - 1 - index])
      expect(reset).toBeGreaterThanOrEqual(now)
      expect(reset).toBeLessThanOrEqual(now + 61)
      expect(answer.headers.get('retry-after')).toBeNull()
    }
  })

  test('a credential over its limit is refused until the window ends; other credentials are not affected', async () => {
    await Promise.all(Array.from({ length: limit }, () => world.get('/whoami')))
    for (const answer of [await world.get('/whoami'), await world.post('/agent-cards', card)]) {
      expectRefusal(answer, 'rate_limited')
      const retryAfter = Number(answer.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(60)
      const [maximum, remaining, reset] = limits(answer)
      expect([maximum, remaining]).toEqual([limit, 0])
      expect(reset).toBe(Math.ceil(world.system.now() / 1000) + retryAfter)
    }
    expect((await world.get('/agent-cards', { key: world.apiKey })).json.data).toEqual([])
    world.system.pass(60_000)
    expect((await world.get('/whoami')).status).toBe(200)
  })

  test('the rate limit is checked after authentication and before the rest of the request', async () => {
    await Promise.all(Array.from({ length: limit }, () => world.get('/whoami')))
    expectRefusal(await world.send('POST', '/agent-cards', { body: '{', idempotencyKey: null }), 'rate_limited')
    expectRefusal(await world.get('/wallets', { key: `${world.agentKey}x` }), 'unauthenticated')
  })

  test('rate-limit windows do not depend on the sandbox clock', async () => {
    await world.get('/whoami')
    await world.post('/simulations/clock/advance', { seconds: 3600 })
    expect(limits(await world.get('/whoami'))[1]).toBe(limit - 3)
  })

  test('answers to unauthenticated callers have no rate-limit headers', async () => {
    for (const key of ['ak_ntl_sandbox_unknown', 'x', `${world.agentKey}x`]) {
      const answer = await world.get('/whoami', { key })
      expectRefusal(answer, 'unauthenticated')
      expect(limits(answer)).toEqual([null, null, null])
    }
    expect(limits(await world.get('/whoami'))[1]).toBe(limit - 1)
  })

  test('a request counts once, even if its transaction is retried', async () => {
    const { store, system } = world
    const stale: Store = {
      aside: (work) => store.aside(work),
      dialect: store.dialect,
      clock: store.clock,
      settling: store.settling,
      close: () => store.close(),
      read: (work) => store.read(work),
      transaction: (work) => {
        let attempt = 0
        return store.transaction(async (tx) => {
          const result = await work(tx)
          attempt += 1
          if (attempt < 3) throw new StaleWriteError('test')
          return result
        })
      },
    }
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const service = createService({ store: stale, system, environment: 'sandbox', rateLimit: 10, log })
    const headers = { Authorization: `Bearer ${world.agentKey}` }
    const response = await service.fetch(new Request('http://sandbox.test/whoami', { headers }))
    expect([response.status, response.headers.get('x-ratelimit-remaining')]).toEqual([200, '9'])
  })
})

describe('rate limits of processes that share a PostgreSQL database', () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  let world: World
  const stores: Store[] = []
  /** The number of times that the processes reserved a part of the limit in the database. */
  let reservationCount: number

  beforeEach(async () => {
    world = await createWorld(postgres)
    reservationCount = 0
  })
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()))
    await world.drop()
  })

  const processes = async (count: number, rateLimit: number): Promise<Service[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { system } = world
        const store = await openStore({ url: world.url, system })
        stores.push(store)
        const counting: Store = Object.assign(Object.create(store), {
          aside: ((work) => {
            reservationCount += 1
            return store.aside(work)
          }) satisfies Store['aside'],
        })
        return createService({ store: counting, system, environment: 'sandbox', rateLimit, log })
      }),
    )
  const count = (services: readonly Service[], requests: number, keyId = 'agk_one') =>
    Promise.all(
      Array.from({ length: requests }, (_, index) => (services[index % services.length] as Service).limit(keyId)),
    )
  const allowed = (counted: Awaited<ReturnType<typeof count>>) => counted.filter(({ failure }) => !failure).length

  test('several processes together accept no more requests in a window than one process would', async () => {
    const two = await processes(2, 20)
    for (let window = 0; window < 3; window++) {
      expect(allowed(await count(two, 60))).toBe(20)
      expect(allowed(await count(two, 2))).toBe(0)
      expect(allowed(await count(two, 1, `agk_other ${window}`))).toBe(1)
      world.system.pass(60_000)
    }
  })

  test('every process shows how many requests of the shared limit remain', async () => {
    const [first, second] = (await processes(2, 20)) as [Service, Service]
    const remainders: number[] = []
    for (const service of [first, second, second, first, second]) {
      remainders.push(Number((await service.limit('agk_one')).headers['X-RateLimit-Remaining']))
    }
    expect(remainders).toEqual([19, 18, 17, 16, 15])
  })

  test('a process reserves 1% of the limit at a time, so it rarely asks the database and wastes little', async () => {
    const three = await processes(3, 3000)
    let accepted = 0
    for (let round = 0; round < 12; round++) accepted += allowed(await count(three, 300))
    expect(accepted).toBeLessThanOrEqual(3000)
    expect(accepted).toBeGreaterThan(3000 - 3 * 30)
    expect(reservationCount).toBeLessThan(110)
    expect((await count(three.slice(0, 1), 1))[0]?.failure?.code).toBe('rate_limited')
  })

  test('a process starts a new window if the stored window ends too late because a clock was wrong', async () => {
    const [first] = (await processes(1, 20)) as [Service]
    await first.limit('agk_one')
    await world.store.transaction(async ({ db }) => {
      await db
        .updateTable('rateLimits')
        .set({ endsAtMs: world.system.now() + 1e9, taken: 99 })
        .execute()
    })
    const [second] = (await processes(1, 20)) as [Service]
    expect((await second.limit('agk_one')).headers['X-RateLimit-Remaining']).toBe('19')
  })
})
