import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, createWorld, type World } from '../support/world.ts'

const second = 1000
const day = 86_400
const week = 7 * day
const start = Date.UTC(2026, 0, 15, 12)

onEachDatabase('the sandbox clock', (database) => {
  let world: World

  beforeEach(async () => {
    world = await createWorld(database)
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const advance = (attributes: object, target: World = world) => target.post('/simulations/clock/advance', attributes)
  const now = async () => Date.parse((await world.get('/simulations/clock')).json.data.attributes.now)
  const cardStatus = async (id: string) => (await world.get(`/agent-cards/${id}`)).json.data.attributes.status
  const read = async (id: string) => (await world.get(`/card-transactions/${id}`)).json.data.attributes
  const balance = async () => (await world.get('/wallets')).json.data[0].attributes.balance

  test('the sandbox clock starts at the real time and follows it', async () => {
    expect((await world.get('/simulations/clock')).json).toStrictEqual({
      data: { type: 'clock', id: 'clock', attributes: { now: '2026-01-15T12:00:00.000Z' } },
    })
    world.system.pass(1234)
    expect(await now()).toBe(start + 1234)
  })

  test('a call can advance the clock by seconds or to a timestamp; the answer has the new time', async () => {
    expect((await advance({ seconds: 90 })).json).toStrictEqual({
      data: { type: 'clock', id: 'clock', attributes: { now: '2026-01-15T12:01:30.000Z' } },
    })
    world.system.pass(500)
    expect(await now()).toBe(start + 90_500)
    const to = await advance({ to: '2026-02-01T00:00:00+02:00' })
    expect(to.json.data.attributes.now).toBe('2026-01-31T22:00:00.000Z')
    expect(await now()).toBe(Date.UTC(2026, 0, 31, 22))
    world.system.pass(500)
    expect(await now()).toBe(Date.UTC(2026, 0, 31, 22) + 500)
  })

  test('the clock can only be moved forward', async () => {
    const pointer = { status: 422, source: { pointer: '/data/attributes/to' } }
    for (const to of [
      '2026-01-15T12:00:00Z',
      '2026-01-15T11:59:59.999Z',
      '1970-01-01T00:00:00Z',
      '0001-01-01T00:00:00Z',
    ]) {
      expectRefusal(await advance({ to }), 'invalid_value', pointer)
    }
    expect((await advance({ to: '2026-01-15T12:00:00.001Z' })).status).toBe(200)
    expectRefusal(await advance({ to: '2026-01-15T12:00:00.001Z' }), 'invalid_value', pointer)
    expect(await now()).toBe(start + 1)
  })

  test('one call can advance the clock by at most ten years', async () => {
    const tenYears = 10 * 366 * day
    const to = new Date(start + tenYears * second + 1).toISOString()
    expectRefusal(await advance({ to }), 'invalid_value', { status: 422, source: { pointer: '/data/attributes/to' } })
    const seconds = { status: 422, source: { pointer: '/data/attributes/seconds' } }
    expectRefusal(await advance({ seconds: tenYears + 1 }), 'invalid_value', seconds)
    expect((await advance({ seconds: tenYears })).status).toBe(200)
    expect(await now()).toBe(start + tenYears * second)
  })

  test('all parties and credentials share one clock', async () => {
    const other = await addParty(world)
    for (const key of [world.agentKey, world.apiKey, other.agentKey, other.apiKey]) {
      expect((await world.post('/simulations/clock/advance', { seconds: 10 }, { key })).status).toBe(200)
    }
    expect(await now()).toBe(start + 40 * second)
  })

  test('each of many simultaneous calls advances the clock', async () => {
    await Promise.all(Array.from({ length: 30 }, () => advance({ seconds: 60 })))
    expect(await now()).toBe(start + 30 * 60 * second)
  })

  test('if many simultaneous calls move the clock to the same time, only one succeeds', async () => {
    const to = '2026-01-15T13:00:00.000Z'
    const answers = await Promise.all(Array.from({ length: 20 }, () => advance({ to })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(422)])
    expect(await now()).toBe(Date.parse(to))
  })

  test('a card expires when the clock reaches its expiry', async () => {
    const cardId = await world.issueCard({ expiresInMinutes: 5 })
    await advance({ seconds: 299 })
    expect(await cardStatus(cardId)).toBe('active')
    await advance({ seconds: 1 })
    expect(await cardStatus(cardId)).toBe('expired')
    expect((await world.authorize(cardId, 1)).json.data.attributes.decline.code).toBe('single_use_card_expired')
  })

  test('a hold expires after 7 days, and not before', async () => {
    const { id } = (await world.authorize(await world.issueCard(), 1000)).json.data
    await advance({ seconds: week - 1 })
    expect(await read(id)).toMatchObject({ status: 'authorized', held: 1000 })
    expect((await balance()).available).toBe(249_000)
    await advance({ seconds: 1 })
    expect(await balance()).toEqual({ available: 250_000, total: 250_000, currency: 'USD' })
    expect(await read(id)).toMatchObject({
      status: 'reversed',
      held: 0,
      captured: 0,
      holdExpiresAt: null,
      updatedAt: new Date(start + week * second).toISOString(),
    })
    const answer = await world.post(`/simulations/card-transactions/${id}/capture`, { amount: 1000, currency: 'USD' })
    expectRefusal(answer, 'card_purchase_simulation_not_allowed')
  })

  test('a hold also expires if only real time passes; the first request afterwards sees it released', async () => {
    const { id } = (await world.authorize(await world.issueCard(), 1000)).json.data
    world.system.pass(3 * week * second)
    expect((await balance()).available).toBe(250_000)
    expect((await read(id)).updatedAt).toBe(new Date(start + week * second).toISOString())
  })

  test('a partial capture ends the hold, so nothing changes when the hold would have expired', async () => {
    const { id } = (await world.authorize(await world.issueCard(), 1000)).json.data
    await advance({ seconds: week - 1 })
    await world.post(`/simulations/card-transactions/${id}/capture`, { amount: 400, currency: 'USD' })
    await advance({ seconds: week })
    expect(await read(id)).toMatchObject({ status: 'partially_captured', captured: 400 })
    expect((await balance()).total).toBe(249_600)
  })

  test('one jump of the clock has the same result as many steps', async () => {
    const results: unknown[] = []
    for (const steps of [[9 * day], Array<number>(36).fill(day / 4), [week - 1, 1, 1, 2 * day - 1]]) {
      const newWorld = await createWorld(database)
      for (let count = 0; count < 5; count++) {
        await newWorld.authorize(await newWorld.issueCard(), 100 + count)
        await advance({ seconds: 3600 }, newWorld)
      }
      for (const seconds of steps) await advance({ seconds }, newWorld)
      const { entries, wallets, transactions } = await proveBooks(newWorld.store)
      results.push({
        entries: entries
          .map(({ account, amountCents, reason, createdAtMs }) => `${createdAtMs} ${reason} ${account} ${amountCents}`)
          .sort(),
        wallets: wallets.map(({ availableCents, heldCents }) => [availableCents, heldCents]).sort(),
        transactions: transactions.map(({ amountCents, status, updatedAtMs }) => [amountCents, status, updatedAtMs]),
      })
      await newWorld.drop()
    }
    expect(results[1]).toEqual(results[0])
    expect(results[2]).toEqual(results[0])
  })

  // `due.test.ts` checks that each batch of effects is applied in its own transaction.
  test.runIf(isDeep)('all holds expire, even if there are more than fit into one batch', async () => {
    const { agentKey: key, walletId } = await addParty(world, { fundsCents: 205 })
    const cards = await Promise.all(Array.from({ length: 205 }, () => world.issueCard({}, { key })))
    await Promise.all(cards.map((cardId) => world.authorize(cardId, 1, { key })))
    expect((await world.get(`/wallets/${walletId}`, { key })).json.data.attributes.balance.available).toBe(0)
    await advance({ seconds: week })
    expect((await world.get(`/wallets/${walletId}`, { key })).json.data.attributes.balance.available).toBe(205)
  })

  test('a hold is released once, even if many simultaneous requests find it expired', async () => {
    const { id } = (await world.authorize(await world.issueCard(), 1000)).json.data
    world.system.pass(week * second)
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.get(`/card-transactions/${id}`)))
    for (const { json } of answers) expect(json.data.attributes.status).toBe('reversed')
    expect((await balance()).available).toBe(250_000)
  })
})

onEachDatabase('the end of the sandbox clock', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database, { system: fakeSystem({ now: Date.UTC(9995, 11, 31, 20) }) })
  })
  afterAll(() => world.drop())

  test('the clock cannot be moved past the end of the year 9995', async () => {
    const advance = (seconds: number) => world.post('/simulations/clock/advance', { seconds })
    const pointer = { status: 422, source: { pointer: '/data/attributes/seconds' } }
    expectRefusal(await advance(4 * 3600), 'invalid_value', pointer)
    const answer = await advance(3.5 * 3600)
    expect(answer.json.data.attributes.now).toBe('9995-12-31T23:30:00.000Z')
  })

  test('a card or hold that would expire after the latest permitted time causes no server error', async () => {
    const attributes = { merchant: { name: 'Books' }, maximumAmount: 1, currency: 'USD' }
    expect((await world.post('/agent-cards', attributes)).status).toBeLessThan(500)
    const cardId = await world.issueCard({ expiresInMinutes: 5 })
    expect((await world.authorize(cardId, 1)).status).toBeLessThan(500)
    expect((await world.get('/agent-cards')).status).toBe(200)
    expect((await world.get('/card-transactions')).status).toBe(200)
  })
})

onEachDatabase('production', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database, { environment: 'production' })
  })
  afterAll(() => world.drop())

  test('production keys have production prefixes', () => {
    expect(world.agentKey).toMatch(/^ak_ntl_prod_/)
    expect(world.apiKey).toMatch(/^sk_ntl_prod_/)
  })

  test('production has no simulations', async () => {
    const cardId = await world.issueCard()
    const money = { amount: 1, currency: 'USD' }
    const routes = [
      ['POST', `/simulations/agent-cards/${cardId}/authorize`, { ...money, merchant: { name: 'Books' } }],
      ['POST', '/simulations/card-transactions/cit_1/capture', money],
      ['POST', '/simulations/card-transactions/cit_1/reverse', {}],
      ['POST', '/simulations/card-transactions/cit_1/expire', {}],
      ['POST', '/simulations/card-transactions/cit_1/refund', money],
      ['POST', '/simulations/clock/advance', { seconds: 1 }],
      ['GET', '/simulations/clock', undefined],
    ] as const
    for (const [method, path, attributes] of routes) {
      for (const key of [world.agentKey, world.apiKey]) {
        expectRefusal(await world.send(method, path, { key, attributes }), 'not_found')
      }
    }
    expect((await world.get('/card-transactions')).json.data).toEqual([])
    expect((await world.get('/openapi.json')).text).not.toMatch(/simulation/i)
  })
})
