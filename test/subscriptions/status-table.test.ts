import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCheckout } from '../../src/service/checkout.ts'
import { subscriptionStatuses } from '../../tools/subscriptions.ts'
import { expectRefusal } from '../service/refusals.ts'
import { expectFirst, expectReplay } from '../service/replays.ts'
import { databases } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { inParts, type Merchant, merchant, monthly, ok, proveCharges } from './merchant.ts'

type Status = (typeof subscriptionStatuses)[number]

const gone = { nextPayment: null, attention: null, checkoutUrl: null, clientSecret: null, expiresAt: null }

describe.each(databases)("each row of the spec's status table on $name", (database) => {
  let world: World
  let shop: Merchant

  beforeEach(async () => {
    world = await createWorld(database)
    shop = merchant(world)
  })
  afterEach(async () => {
    await proveCharges(world)
    await world.drop()
  })

  test('(created) → pending: checkout is open, no mandate, payment 1 without a due day', async () => {
    expect(await shop.read(await shop.create())).toMatchObject({
      status: 'pending',
      checkoutUrl: expect.any(String),
      clientSecret: expect.any(String),
      mandateId: null,
      nextPayment: { paymentNumber: 1, dueDate: null },
    })
  })

  test('pending → active when the payer pays payment 1: mandateId is set', async () => {
    const id = await shop.create()
    expect(ok(await shop.checkout(id)).json.data.attributes).toMatchObject({
      status: 'active',
      mandateId: expect.stringMatching(/^mdt_/),
    })
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('pending → canceled by cancel: payment 1 cannot be paid, and all is null', async () => {
    const id = await shop.create()
    const { clientSecret } = await shop.read(id)
    expect(ok(await shop.cancel(id)).json.data.attributes).toMatchObject({ status: 'canceled', ...gone, mandateId: null })
    expectRefusal(await shop.checkout(id), 'conflict')
    const payer = createCheckout(world.store, world.system)
    const card = { number: '4242424242424242', expiry: '12/40', cvv: '123' }
    await expect(payer.pay(String(clientSecret), card)).rejects.toMatchObject({ code: 'conflict' })
    expect(await shop.charged(id)).toEqual([])
  })

  test('pending → canceled when checkout ends unpaid, expiresAt passing', async () => {
    const id = await shop.create()
    await shop.pass(1)
    expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...gone, mandateId: null, missedPayments: [] })
  })

  test('pending → canceled when the agreement cannot be set up', async () => {
    const id = await shop.create()
    expect(ok(await shop.checkout(id, 'agreement_fails')).json.data.attributes).toMatchObject({ status: 'canceled', ...gone })
    expect(await shop.read(id)).toMatchObject({ mandateId: null })
    expect(await shop.charged(id)).toEqual([])
  })

  test('active → canceled by cancel: all future payments stop', async () => {
    const id = await shop.active()
    expect(ok(await shop.cancel(id)).json.data.attributes).toMatchObject({ status: 'canceled', ...gone })
    await shop.pass(400)
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('active → past_due when a payment is missed; later ones are charged, the missed one never', async () => {
    const id = await shop.active()
    await shop.card(id, 'declines')
    await shop.card(id, 'approves', 3)
    await shop.to('2026-02-20')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2] })
    await shop.to('2026-05-01')
    expect((await shop.charged(id)).map(({ paymentNumber }) => paymentNumber)).toEqual([1, 3, 4])
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2] })
  })

  test('past_due lasts until the missed payment is marked paid', async () => {
    const id = await shop.active()
    await shop.card(id, 'declines')
    await shop.card(id, 'approves', 3)
    await shop.to('2027-01-01')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due' })
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
  })

  test('active → needs_attention when the card rules a retry out; collection stops until resumed', async () => {
    const id = await shop.active()
    await shop.card(id, 'removed')
    await shop.to('2026-02-15')
    expect(await shop.read(id)).toMatchObject({ status: 'needs_attention', attention: { reason: 'card_removed' } })
    await shop.card(id, 'approves')
    await shop.to('2026-04-01')
    expect(await shop.charged(id)).toHaveLength(1)
    ok(await shop.resume(id))
    await shop.to('2026-04-15')
    expect((await shop.charged(id)).map(({ paymentNumber }) => paymentNumber)).toEqual([1, 4])
  })

  test('past_due → needs_attention by a second miss in a row, or a card that rules a retry out', async () => {
    const [twice, card] = [await shop.active(), await shop.active()]
    for (const id of [twice, card]) await shop.card(id, 'declines')
    await shop.card(card, 'needs_update', 3)
    await shop.to('2026-03-14')
    for (const id of [twice, card]) expect((await shop.read(id)).status).toBe('past_due')
    await shop.to('2026-03-20')
    expect(await shop.read(twice)).toMatchObject({ status: 'needs_attention', attention: { reason: 'missed_twice' } })
    expect(await shop.read(card)).toMatchObject({
      status: 'needs_attention',
      attention: { reason: 'card_needs_update', since: '2026-03-15T00:00:00.000Z' },
      missedPayments: [2],
    })
  })

  test('any non-final → canceled, by the payer too', async () => {
    const ids = await Promise.all(nonFinal.map((status) => inState(shop, status)))
    const payer = createCheckout(world.store, world.system)
    for (const id of ids) await payer.stop(await secretOf(world, id))
    for (const id of ids) expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...gone })
  })

  test('active → completed when every payment is paid, past_due → completed when the missed is marked paid', async () => {
    const [paid, missing] = [await shop.active(inParts(2)), await shop.active(inParts(3))]
    await shop.card(missing, 'declines')
    await shop.card(missing, 'approves', 3)
    await shop.to('2026-04-01')
    expect(await shop.read(paid)).toMatchObject({ status: 'completed', ...gone })
    expect(await shop.read(missing)).toMatchObject({ status: 'past_due' })
    expect(ok(await shop.markPaid(missing, 2)).json.data.attributes).toMatchObject({ status: 'completed', ...gone })
  })

  test('canceled stays canceled when every payment was marked paid before', async () => {
    const id = await shop.active(inParts(3))
    await shop.markPaid(id, 2)
    await shop.cancel(id)
    expectRefusal(await shop.markPaid(id, 3), 'conflict')
    await shop.pass(100)
    expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...gone })
  })
})

const nonFinal = ['pending', 'active', 'past_due', 'needs_attention'] as const

/** Two statuses are reached by what the payer's card does as time goes by; here in less than a checkout's time. */
async function inState(shop: Merchant, status: Status): Promise<string> {
  const id = await shop.create({ ...inParts(4), expiresInMinutes: null })
  if (status === 'pending') return id
  if (status === 'canceled') return ok(await shop.cancel(id)).json.data.id
  ok(await shop.checkout(id))
  if (status === 'completed') for (const number of [2, 3, 4]) ok(await shop.markPaid(id, number))
  if (status === 'past_due') {
    ok(await shop.card(id, 'declines'))
    ok(await shop.card(id, 'approves', 3))
  }
  if (status === 'needs_attention') ok(await shop.card(id, 'blocked'))
  return id
}

async function secretOf(world: World, id: string): Promise<string> {
  const found = await createCheckout(world.store, world.system).open(id)
  return String(found?.clientSecret)
}

type Outcome = number | { becomes: Status }

/** Each operation in each state, on 21 February: the status it leads to, or the HTTP status of its refusal. */
const product: Record<string, Record<Status, Outcome>> = {
  cancel: row({ becomes: 'canceled' }, { completed: 409 }),
  resume: row(409, { needs_attention: { becomes: 'active' } }),
  'mark the missed or next one paid': row(409, {
    active: { becomes: 'active' },
    past_due: { becomes: 'active' },
    needs_attention: { becomes: 'needs_attention' },
  }),
  'mark payment 1 paid': row(409),
  'mark payment 4 paid': row(409),
  'mark payment 5 of 4 paid': row(404),
  'check out': row(409, { pending: { becomes: 'active' } }),
  'check out, declined': row(409, { pending: { becomes: 'pending' } }),
  'check out, no agreement': row(409, { pending: { becomes: 'canceled' } }),
  'change the card': row(409, {
    active: { becomes: 'active' },
    past_due: { becomes: 'past_due' },
    needs_attention: { becomes: 'needs_attention' },
  }),
  get: Object.fromEntries(subscriptionStatuses.map((status) => [status, { becomes: status }])) as Record<Status, Outcome>,
}

function row(otherwise: Outcome, states: Partial<Record<Status, Outcome>> = {}): Record<Status, Outcome> {
  return Object.fromEntries(subscriptionStatuses.map((status) => [status, states[status] ?? otherwise])) as Record<Status, Outcome>
}

describe.each(databases)('each operation in each state on $name', (database) => {
  let world: World
  let shop: Merchant
  const ids: Record<string, string> = {}

  const operations: Record<string, (id: string, status: Status) => Promise<Answer>> = {
    cancel: (id) => shop.cancel(id),
    resume: (id) => shop.resume(id),
    'mark the missed or next one paid': (id, status) => shop.markPaid(id, status === 'active' ? 3 : 2),
    'mark payment 1 paid': (id) => shop.markPaid(id, 1),
    'mark payment 4 paid': (id) => shop.markPaid(id, 4),
    'mark payment 5 of 4 paid': (id) => shop.markPaid(id, 5),
    'check out': (id) => shop.checkout(id),
    'check out, declined': (id) => shop.checkout(id, 'declines'),
    'check out, no agreement': (id) => shop.checkout(id, 'agreement_fails'),
    'change the card': (id) => shop.card(id, 'approves'),
    get: (id) => shop.get(id),
  }
  const cases = Object.entries(product).flatMap(([operation, states]) =>
    Object.entries(states).map(([status, outcome]) => ({ operation, status: status as Status, outcome })),
  )

  beforeAll(async () => {
    world = await createWorld(database)
    shop = merchant(world)
    for (const { operation, status } of cases) ids[`${operation} ${status}`] = await inState(shop, status)
    await shop.to('2026-02-21')
  })
  afterAll(async () => {
    await proveCharges(world)
    await world.drop()
  })

  test('the table is the whole product', () => {
    expect(Object.keys(product).sort()).toEqual(Object.keys(operations).sort())
    expect(cases).toHaveLength(Object.keys(operations).length * subscriptionStatuses.length)
  })

  test.each(cases)('$operation when $status', async ({ operation, status, outcome }) => {
    const id = String(ids[`${operation} ${status}`])
    const before = (await shop.get(id)).text
    expect(JSON.parse(before).data.attributes.status).toBe(status)
    const operate = operations[operation]
    if (operate === undefined) throw new Error(operation)
    const answer = await operate(id, status)
    const after = (await shop.get(id)).text
    if (typeof outcome === 'number') {
      expectRefusal(answer, outcome === 404 ? 'not_found' : 'conflict')
      expect(after).toBe(before)
    } else {
      expect(ok(answer).json.data.attributes.status).toBe(outcome.becomes)
      expect(after).toBe(answer.text)
      if (status === 'canceled') expect(after).toBe(before)
    }
  })

  test.each(subscriptionStatuses)('the list of those that are %s has just those, and reads them as they stand', async (status) => {
    const own = merchant(world)
    const id = await inState(own, status === 'past_due' || status === 'needs_attention' ? 'active' : status)
    const { data } = ok(await world.get(`/subscriptions?status=${status}&limit=100`)).json
    for (const { attributes } of data) expect(attributes.status).toBe(status)
    const listed = data.map((item: { id: string }) => item.id)
    const now = (await own.read(id)).status
    expect(listed.includes(id)).toBe(now === status)
    const all: { id: string; attributes: { status: string } }[] = ok(await world.get('/subscriptions?limit=100')).json.data
    const expected = all.filter(({ attributes }) => attributes.status === status).map((item) => item.id)
    expect(listed).toEqual(expect.arrayContaining(expected))
    expect((await world.get(`/subscriptions?status=${status}s`)).status).toBe(400)
  })
})

describe.each(databases)('canceled is final on $name', (database) => {
  test('neither time nor card nor any operation changes it', async () => {
    const world = await createWorld(database)
    try {
      const shop = merchant(world)
      const ids = await Promise.all(nonFinal.map((status) => inState(shop, status)))
      await shop.to('2026-02-16')
      const canceled = await Promise.all(ids.map(async (id) => ok(await shop.cancel(id)).text))
      for (const [index, id] of ids.entries()) {
        for (const answer of [
          await shop.resume(id),
          await shop.markPaid(id, 2),
          await shop.checkout(id),
          await shop.card(id, 'approves'),
        ]) {
          expectRefusal(answer, 'conflict')
        }
        expect(ok(await shop.cancel(id)).text).toBe(canceled[index])
      }
      await shop.pass(2000)
      for (const [index, id] of ids.entries()) expect((await shop.get(id)).text).toBe(canceled[index])
      const charged = await Promise.all(ids.map(async (id) => (await shop.charged(id)).length))
      expect(charged).toEqual([0, 1, 1, 1])
      await proveCharges(world)
    } finally {
      await world.drop()
    }
  })
})

describe.each(databases)('cancel to the letter on $name', (database) => {
  let world: World
  let shop: Merchant

  beforeAll(async () => {
    world = await createWorld(database, { rateLimit: 5000 })
    shop = merchant(world)
  })
  afterAll(() => world.drop())

  const cancelPath = (id: string) => `/subscriptions/${id}/cancel`

  test('answers the whole subscription, with every null', async () => {
    const id = await shop.active()
    const { paymentIntent } = (await shop.get(id)).json.data.relationships
    const before = await shop.read(id)
    world.system.pass(1000)
    const answer = await shop.cancel(id)
    expectFirst(answer)
    expect(answer.json).toStrictEqual({
      data: {
        type: 'subscription',
        id,
        attributes: { ...before, ...gone, status: 'canceled', updatedAt: new Date(world.system.now()).toISOString() },
        relationships: { paymentIntent },
      },
    })
  })

  test('carries the rate-limit headers, whole numbers', async () => {
    const id = await shop.create()
    for (const answer of [await shop.cancel(id), await shop.cancel(id), await world.send('POST', cancelPath(id), { body: '{}' })]) {
      expect(answer.headers.get('x-ratelimit-limit')).toBe('5000')
      expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
      expect(answer.headers.get('x-ratelimit-reset')).toMatch(/^\d{10}$/)
    }
  })

  test('X-Instance-ID is optional, for agents too', async () => {
    for (const key of [world.agentKey, world.apiKey]) {
      const id = await shop.create()
      expectFirst(await shop.cancel(id, { key, instanceId: null }))
    }
    const long = { instanceId: 'x'.repeat(1025) }
    expectRefusal(await shop.cancel(await shop.create(), long), 'invalid_value', { status: 400, source: { header: 'X-Instance-ID' } })
  })

  test('the Idempotency-Key is required, of 255 characters at the most', async () => {
    const id = await shop.create()
    const source = { header: 'Idempotency-Key' }
    for (const idempotencyKey of [null, '', 'x'.repeat(256)]) {
      expectRefusal(await shop.cancel(id, { idempotencyKey }), 'invalid_value', { status: 400, source })
    }
    expect((await shop.read(id)).status).toBe('pending')
    expectFirst(await shop.cancel(id, { idempotencyKey: 'x'.repeat(255) }))
  })

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['no envelope', '{}'],
    ['null', 'null'],
    ['no attributes', '{"data":{}}'],
    ['attributes that are null', '{"data":{"attributes":null}}'],
    ['a list', '{"data":{"attributes":[]}}'],
    ['an extra property beside data', '{"data":{"attributes":{}},"meta":{}}'],
    ['an extra property beside attributes', '{"data":{"type":"subscription","attributes":{}}}'],
    ['an extra attribute', '{"data":{"attributes":{"reason":"too dear"}}}'],
  ])('a body with %s is refused with 400', async (_, body) => {
    const id = await shop.create()
    const answer = await world.send('POST', cancelPath(id), { body })
    expect([answer.status, answer.json.errors[0].code]).toEqual([400, 'invalid_value'])
    expect((await shop.read(id)).status).toBe('pending')
  })

  test.each(['sub_1', `sub_${'A'.repeat(32)}`, `sub_${'a'.repeat(33)}`, `pmi_${'a'.repeat(32)}`, 'x'])(
    'the id %s is refused with 400',
    async (id) => {
      const source = { parameter: 'subscriptionId' }
      expectRefusal(await shop.cancel(id), 'invalid_value', { status: 400, source })
    },
  )

  test('one that does not exist: 404; without a credential: 401', async () => {
    expectRefusal(await shop.cancel(`sub_${'0'.repeat(32)}`), 'not_found')
    expectRefusal(await shop.cancel(await shop.create(), { key: 'ak_ntl_sandbox_none' }), 'unauthenticated')
  })

  test('a replay is the same, byte for byte; another request under the key is a conflict', async () => {
    const id = await shop.active()
    const first = await shop.cancel(id, { idempotencyKey: 'cancel once' })
    world.system.pass(60_000)
    expectReplay(await shop.cancel(id, { idempotencyKey: 'cancel once' }), first)
    const other = await shop.cancel(await shop.create(), { idempotencyKey: 'cancel once' })
    expectRefusal(other, 'conflict', { source: { header: 'Idempotency-Key' } })
  })

  test('a refused cancel replays too', async () => {
    const id = await inState(shop, 'completed')
    const first = await shop.cancel(id, { idempotencyKey: 'refused' })
    expectRefusal(first, 'conflict')
    expectReplay(await shop.cancel(id, { idempotencyKey: 'refused' }), first)
  })
})
