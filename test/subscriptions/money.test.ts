import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCheckout } from '../../src/service/pages/checkout/checkout.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { expectRefusal } from '../request/refusals.ts'
import { expectFirst, expectReplay, isReplay } from '../request/replays.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, ok, proveCharges, termsOfParts, weekly } from './merchant.ts'

onEachDatabase('the money of subscriptions', (database) => {
  let world: World
  let shop: Merchant
  let otherServices: { store: Store; service: Service }[]

  beforeEach(async () => {
    world = await createWorld(database)
    shop = merchant(world)
    otherServices = []
  })
  afterEach(async () => {
    await proveCharges(world)
    // Writes the run log entries that are still in memory, as a process does when it ends.
    for (const { store, service } of otherServices) {
      await service.runLog.flush()
      await store.close()
    }
    await world.drop()
  })

  const balance = async (query = '') => (await world.get(`/wallets${query}`)).json.data[0].attributes.balance
  const numbers = async (id: string) => (await shop.charged(id)).map(({ paymentNumber }) => paymentNumber)
  const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort()

  /** Starts another service on the same database and clock but with its own connections, as another process would. */
  async function startOtherService() {
    const store = await openStore({ url: world.url, system: world.system })
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const service = createService({ store, system: world.system, environment: 'sandbox', rateLimit: 1_000_000, log })
    const name = `service ${otherServices.push({ store, service })}`
    let count = 0
    const send = async (method: 'GET' | 'POST', path: string, attributes?: object) => {
      const headers = {
        Authorization: `Bearer ${world.agentKey}`,
        'X-Instance-ID': name,
        'Idempotency-Key': `${name} ${count++}`,
        'Content-Type': 'application/json',
      }
      const body = attributes === undefined ? {} : { body: JSON.stringify({ data: { attributes } }) }
      const response = await service.fetch(new Request(`http://sandbox.test${path}`, { method, headers, ...body }))
      return { status: response.status, json: await response.json() }
    }
    return {
      get: (path: string) => send('GET', path),
      post: (path: string, attributes: object) => send('POST', path, attributes),
    }
  }

  test('every charge, and nothing else, is credited to the merchant’s wallet, at the time of the charge', async () => {
    const id = await shop.active()
    expect(await balance()).toEqual({ available: 251_000, total: 251_000, currency: 'USD' })
    ok(await shop.card(id, 'declines', 3))
    ok(await shop.card(id, 'approves', 4))
    await shop.active(termsOfParts(2, 999))
    await shop.checkout(await shop.create(), 'declines')
    await shop.checkout(await shop.create(), 'agreement_fails')
    await shop.to('2026-04-20')
    expect(await balance()).toEqual({ available: 253_999, total: 253_999, currency: 'USD' })
    const paid = await proveCharges(world)
    expect(paid).toHaveLength(10)
    expect(
      paid
        .filter(({ sourceId }) => sourceId === id)
        .map(({ createdAtMs }) => createdAtMs)
        .sort(),
    ).toEqual(['2026-01-15T12:00Z', '2026-02-15', '2026-04-15'].flatMap((day) => [Date.parse(day), Date.parse(day)]))
    ok(await shop.markPaid(id, 3))
    ok(await shop.cancel(id))
    expect((await balance()).total).toBe(253_999)
  })

  test('a subscription for a customer is paid into the customer’s wallet', async () => {
    const customerPartyId = await world.customerPartyId()
    const { id } = ok(await world.post('/subscriptions', { ...monthly, customerPartyId })).json.data
    ok(await world.post(`/simulations/subscriptions/${id}/checkout`, { card: 'approves', customerPartyId }))
    await shop.to('2026-02-15')
    expect((await balance()).total).toBe(250_000)
    expect((await balance(`?customerPartyId=${customerPartyId}`)).total).toBe(102_000)
  })

  test('50 simultaneous checkouts of one subscription charge payment 1 once', async () => {
    const id = await shop.create()
    const answers = await Promise.all(Array.from({ length: 50 }, () => shop.checkout(id)))
    expect(statuses(answers)).toEqual([200, ...Array<number>(49).fill(409)])
    expect(await numbers(id)).toEqual([1])
    expect((await balance()).total).toBe(251_000)
  })

  test('a checkout repeated with the same idempotency key, simultaneously or later, charges payment 1 once', async () => {
    const id = await shop.create()
    const sent = { idempotencyKey: 'checkout' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => shop.checkout(id, 'approves', sent)))
    expect(answers.filter((answer) => answer.status === 200 && !isReplay(answer))).toHaveLength(1)
    const first = answers.find((answer) => answer.status === 200)
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.text).toBe(first?.text)
      else expectRefusal(answer, 'conflict', { retryable: true })
    }
    await shop.pass(1.5)
    expectReplay(await shop.checkout(id, 'approves', sent), first)
    expect(await numbers(id)).toEqual([1])
  })

  test('simultaneous or repeated requests to resume or to mark a payment paid take effect once', async () => {
    const id = await shop.active()
    ok(await shop.card(id, 'blocked'))
    await shop.to('2026-02-16')
    ok(await shop.card(id, 'approves'))
    const resumed = await Promise.all(Array.from({ length: 10 }, () => shop.resume(id)))
    expect(statuses(resumed)).toEqual([200, ...Array<number>(9).fill(409)])
    const marked = await Promise.all(Array.from({ length: 10 }, () => shop.markPaid(id, 3)))
    expect(statuses(marked)).toEqual([200, ...Array<number>(9).fill(409)])
    const sent = { idempotencyKey: 'mark' }
    const first = await shop.markPaid(id, 4, sent)
    expectFirst(first)
    expectReplay(await shop.markPaid(id, 4, sent), first)
    await shop.to('2026-05-20')
    expect(await numbers(id)).toEqual([1, 2, 5])
  })

  test('a due payment is charged once, even if many requests notice it at the same time', async () => {
    const ids = [await shop.active(), await shop.active(weekly), await shop.active(termsOfParts(4))]
    world.system.pass(40 * 86_400_000)
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => shop.get(String(ids[index % 3]))))
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    expect(await Promise.all(ids.map(numbers))).toEqual([
      [1, 2],
      [1, 2, 3, 4, 5, 6],
      [1, 2],
    ])
    expect((await balance()).total).toBe(260_000)
  })

  test('each payment is charged once, even if two services on one database advance the clock, read and resume at the same time', async () => {
    const [one, other] = [await startOtherService(), await startOtherService()]
    const ids = await Promise.all(Array.from({ length: 12 }, (_, index) => shop.active(index % 2 ? weekly : monthly)))
    const behaviors = ['approves', 'declines_once', 'declines', 'blocked']
    for (const [index, id] of ids.entries()) ok(await shop.card(id, String(behaviors[index % 4])))
    for (let round = 0; round < 12; round++) {
      const answers = await Promise.all(
        [one, other].flatMap((service, index) => [
          service.post('/simulations/clock/advance', { seconds: 86_400 * (5 + index) }),
          service.get(`/subscriptions/${ids[round]}`),
          service.post(`/subscriptions/${ids[round]}/resume`, {}),
          service.get('/subscriptions'),
        ]),
      )
      for (const { status } of answers) expect([200, 409]).toContain(status)
    }
    const paid = await proveCharges(world)
    const now = Date.parse((await world.get('/simulations/clock')).json.data.attributes.now)
    // While a service waits for a lock, it sleeps for some milliseconds at a time, and each sleep advances the shared
    // fake clock.
    const waitedMs = now - (Date.UTC(2026, 0, 15, 12) + 12 * 11 * 86_400_000)
    expect(waitedMs).toBeGreaterThanOrEqual(0)
    expect(waitedMs).toBeLessThan(60_000)
    // Subscriptions 0, 4 and 8 are monthly, and their cards approve. The clock went from January 15 to May 27, so five
    // payments of each were due.
    for (const index of [0, 4, 8]) expect(await numbers(String(ids[index]))).toEqual([1, 2, 3, 4, 5])
    expect(paid.length).toBeGreaterThan(100)
  })

  test('if one service checks out a subscription while another cancels it, it ends up canceled and is charged at most once', async () => {
    const [one, other] = [await startOtherService(), await startOtherService()]
    for (let round = 0; round < 12; round++) {
      const id = await shop.create()
      const pay = () => one.post(`/simulations/subscriptions/${id}/checkout`, { card: 'approves' })
      const cancel = () => other.post(`/subscriptions/${id}/cancel`, {})
      const first = round % 2 === 0 ? pay() : cancel()
      const second = round % 2 === 0 ? cancel() : pay()
      const [paid, canceled] = await Promise.all(round % 2 === 0 ? [first, second] : [second, first])
      const { status, mandateId } = await shop.read(id)
      expect(status).toBe('canceled')
      expect(canceled?.status).toBe(200)
      expect(await numbers(id)).toEqual(paid?.status === 200 ? [1] : [])
      expect(mandateId === null).toBe(paid?.status !== 200)
      if (paid?.status !== 200) expect(paid?.status).toBe(409)
    }
  })

  test('simultaneous payments on the checkout pages of two services charge payment 1 once', async () => {
    const id = await shop.create()
    const secret = String((await shop.read(id)).clientSecret)
    await startOtherService()
    await startOtherService()
    const pages = otherServices.map(({ store }) => createCheckout({ store, system: world.system }))
    const card = { number: '4242 4242 4242 4242', expiry: '01/30', cvv: '123' }
    const results = await Promise.all(pages.flatMap((page) => Array.from({ length: 10 }, () => page.pay(secret, card))))
    for (const { result, session } of results) expect([result, session.status]).toEqual(['paid', 'active'])
    expect(await numbers(id)).toEqual([1])
    expect(await proveCharges(world)).toHaveLength(2)
  })

  test('a subscription that is canceled at the same time as a payment falls due is not charged afterwards', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => shop.active()))
    const other = await startOtherService()
    for (const id of ids) {
      const racing = [shop.cancel(id), other.post('/simulations/clock/advance', { seconds: 86_400 * 10 })]
      const [canceled] = await Promise.all(racing)
      expect(canceled?.status).toBe(200)
      const charged = await numbers(id)
      await shop.pass(1)
      expect((await shop.read(id)).status).toBe('canceled')
      expect(await numbers(id)).toEqual(charged)
    }
  })
})
