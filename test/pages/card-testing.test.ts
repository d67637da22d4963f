import { afterEach, beforeEach, expect, test } from 'vitest'
import { declinesBeforePause, pausedUntilMs, requireNotPaused } from '../../src/service/rules/checkout-tries.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'

const monthly = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 150 }
const good = { number: '4242424242424242', expiry: '12/34', cvv: '987' }
const declined = { ...good, number: '4000000000000002' }
const quarterOfAnHour = 15 * 60_000

test('a request that read its time just before a pause began is asked to wait no longer than the pause', () => {
  const untilMs = pausedUntilMs(declinesBeforePause, 1_000_000)
  expect(() => requireNotPaused(untilMs, 999_990)).toThrow(expect.objectContaining({ retryAfterSeconds: 900 }))
})

onEachDatabase('card testing at a checkout', (database) => {
  let world: World
  let services: Service[]
  beforeEach(async () => {
    world = await createWorld(database)
    const { store, system } = world
    const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
    const log = { debug: line, info: line, warn: line, error: line }
    // The second service acts as a second process on the same database.
    services = [world.service, createService({ store, system, environment: 'sandbox', rateLimit: 1_000, log })]
  })
  afterEach(() => world.drop())

  async function subscribe() {
    const { id, attributes } = (await world.post('/subscriptions', monthly)).json.data
    return { id: id as string, clientSecret: attributes.clientSecret as string }
  }

  async function pay(clientSecret: string, card: object, { from = '192.0.2.1', process = 0 } = {}): Promise<Answer> {
    const body = JSON.stringify({ data: { attributes: { clientSecret, ...card } } })
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
    const request = new Request('http://sandbox.test/checkout/pay', init)
    const response = await services[process]?.fetch(request, { local: false, address: from })
    if (response === undefined) throw new Error('no such process')
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  }

  const statusOf = async (id: string) => (await world.get(`/subscriptions/${id}`)).json.data.attributes.status
  const warnings = () => world.logged.filter((line) => line.includes('too many'))

  test('after ten declines every process blocks the checkout for 15 minutes; after twenty it is canceled', async () => {
    const { id, clientSecret } = await subscribe()
    const other = await subscribe()
    // Each attempt comes from a different address, and the attempts alternate between the two processes.
    const attempts = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        pay(clientSecret, declined, { from: `192.0.2.${index}`, process: index % 2 }),
      ),
    )
    expect(attempts.filter(({ json }) => json.data?.attributes.result === 'declined')).toHaveLength(10)
    for (const answer of attempts.filter(({ status }) => status !== 200)) {
      expectRefusal(answer, 'rate_limited')
      expect(answer.headers.get('retry-after')).toBe('900')
    }
    expectRefusal(await pay(clientSecret, good, { from: '192.0.2.77' }), 'rate_limited')
    expect(warnings()).toEqual([expect.stringContaining(id)])
    expect((await pay(other.clientSecret, declined, { from: '192.0.2.78' })).status).toBe(200)
    world.system.pass(quarterOfAnHour)
    for (let count = 0; count < 10; count++) {
      expect((await pay(clientSecret, declined, { from: `192.0.2.${count}` })).status).toBe(200)
    }
    expect(await statusOf(id)).toBe('canceled')
    expectRefusal(await pay(clientSecret, good), 'conflict')
    expect(warnings()).toHaveLength(1)
    expect(await statusOf(other.id)).toBe('pending')
  })

  test('the checkout stays open after nine declines, so a valid card can still pay', async () => {
    const { id, clientSecret } = await subscribe()
    for (let count = 0; count < 9; count++) await pay(clientSecret, declined)
    for (let count = 0; count < 9; count++) await pay(clientSecret, { ...good, cvv: '1' })
    expect((await pay(clientSecret, good)).json.data.attributes.result).toBe('paid')
    expect(await statusOf(id)).toBe('active')
    expect(warnings()).toEqual([])
  })

  test('an IP address with 30 declines is blocked at every checkout for 15 minutes; other addresses can still pay', async () => {
    for (let checkout = 0; checkout < 6; checkout++) {
      const { clientSecret } = await subscribe()
      for (let count = 0; count < 5; count++) await pay(clientSecret, declined)
    }
    const { clientSecret } = await subscribe()
    const refused = await pay(clientSecret, good)
    expectRefusal(refused, 'rate_limited')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await pay(clientSecret, declined)
    expect(warnings()).toEqual([expect.stringContaining('192.0.2.1')])
    expect((await pay(clientSecret, good, { from: '192.0.2.2' })).json.data.attributes.result).toBe('paid')
    world.system.pass(quarterOfAnHour)
    const later = await subscribe()
    expect((await pay(later.clientSecret, good)).json.data.attributes.result).toBe('paid')
  })
})
