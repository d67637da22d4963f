import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createService } from '../../src/service/service.ts'
import { StaleWriteError, type Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase } from '../support/databases.ts'
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
    vi.useRealTimers()
    await world.drop()
  })

  test('are told with every answer to a credential', async () => {
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
      const [most, remaining, reset] = limits(answer)
      expect([most, remaining]).toEqual([limit, limit - 1 - index])
      expect(reset).toBeGreaterThanOrEqual(now)
      expect(reset).toBeLessThanOrEqual(now + 61)
      expect(answer.headers.get('retry-after')).toBeNull()
    }
  })

  test('refuse what is too much, of that credential only, until the window ends', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    await Promise.all(Array.from({ length: limit }, () => world.get('/whoami')))
    for (const answer of [await world.get('/whoami'), await world.post('/agent-cards', card)]) {
      expectRefusal(answer, 'rate_limited')
      const retryAfter = Number(answer.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(60)
      const [most, remaining, reset] = limits(answer)
      expect([most, remaining]).toEqual([limit, 0])
      expect(reset).toBe(Math.ceil(world.system.now() / 1000) + retryAfter)
    }
    expect((await world.get('/agent-cards', { key: world.apiKey })).json.data).toEqual([])
    vi.setSystemTime(Date.now() + 61_000)
    expect((await world.get('/whoami')).status).toBe(200)
  })

  test('come before what else is wrong, and after the credential', async () => {
    await Promise.all(Array.from({ length: limit }, () => world.get('/whoami')))
    expectRefusal(await world.send('POST', '/agent-cards', { body: '{', idempotencyKey: null }), 'rate_limited')
    expectRefusal(await world.get('/wallets', { key: `${world.agentKey}x` }), 'unauthenticated')
  })

  test('are not moved by the sandbox clock', async () => {
    await world.get('/whoami')
    await world.post('/simulations/clock/advance', { seconds: 3600 })
    expect(limits(await world.get('/whoami'))[1]).toBe(limit - 3)
  })

  test('are not told to those who are nobody', async () => {
    for (const key of ['ak_ntl_sandbox_unknown', 'x', `${world.agentKey}x`]) {
      const answer = await world.get('/whoami', { key })
      expectRefusal(answer, 'unauthenticated')
      expect(limits(answer)).toEqual([null, null, null])
    }
    expect(limits(await world.get('/whoami'))[1]).toBe(limit - 1)
  })

  test('count a request once, however often its transaction is run again', async () => {
    const { store, system } = world
    const stale: Store = {
      aside: (work) => store.aside(work),
      dialect: store.dialect,
      clock: store.clock,
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
