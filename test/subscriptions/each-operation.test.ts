import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { subscriptionStatuses } from '../../tools/subscriptions.ts'
import { expectRefusal } from '../request/refusals.ts'
import { databases, onEachDatabase, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, ok, proveCharges } from './merchant.ts'
import { createInState, nonFinal, type Status } from './states.ts'

/** The subscription's status after an operation, or the HTTP status if the operation is refused. */
type Outcome = number | Status

/** The outcome of each operation on a subscription in each status, on February 21. */
const outcomes: Record<string, Record<Status, Outcome>> = {
  cancel: row('canceled', { completed: 409 }),
  resume: row(409, { needs_attention: 'active' }),
  'mark the missed or next payment paid': row(409, {
    active: 'active',
    past_due: 'active',
    needs_attention: 'needs_attention',
  }),
  'mark payment 1 paid': row(409),
  'mark payment 4 paid': row(409),
  'mark payment 5 (of 4) paid': row(404),
  'check out': row(409, { pending: 'active' }),
  'check out with a declined card': row(409, { pending: 'pending' }),
  'check out with a card whose agreement fails': row(409, { pending: 'canceled' }),
  'change the card': row(409, {
    active: 'active',
    past_due: 'past_due',
    needs_attention: 'needs_attention',
  }),
  get: Object.fromEntries(subscriptionStatuses.map((status) => [status, status])) as Record<Status, Outcome>,
}

function row(otherwise: Outcome, states: Partial<Record<Status, Outcome>> = {}): Record<Status, Outcome> {
  return Object.fromEntries(subscriptionStatuses.map((status) => [status, states[status] ?? otherwise])) as Record<
    Status,
    Outcome
  >
}

describe.each(databases)('each operation on a subscription in each status on $name', (database) => {
  let world: World
  let shop: Merchant
  const ids: Record<string, string> = {}

  const operations: Record<string, (id: string, status: Status) => Promise<Answer>> = {
    cancel: (id) => shop.cancel(id),
    resume: async (id, status) => {
      if (status === 'needs_attention') ok(await shop.card(id, 'approves'))
      return shop.resume(id)
    },
    'mark the missed or next payment paid': (id, status) => shop.markPaid(id, status === 'active' ? 3 : 2),
    'mark payment 1 paid': (id) => shop.markPaid(id, 1),
    'mark payment 4 paid': (id) => shop.markPaid(id, 4),
    'mark payment 5 (of 4) paid': (id) => shop.markPaid(id, 5),
    'check out': (id) => shop.checkout(id),
    'check out with a declined card': (id) => shop.checkout(id, 'declines'),
    'check out with a card whose agreement fails': (id) => shop.checkout(id, 'agreement_fails'),
    'change the card': (id) => shop.card(id, 'approves'),
    get: (id) => shop.get(id),
  }
  const all = Object.entries(outcomes).flatMap(([operation, states]) =>
    Object.entries(states).map(([status, outcome]) => ({ operation, status: status as Status, outcome })),
  )
  // Outside the deep run, only every eighth case runs on PostgreSQL. Subscriptions are created only for the cases that
  // run.
  const cases = database === sqlite ? all : sampleOf(all, 8)
  const statuses = database === sqlite ? subscriptionStatuses : sampleOf(subscriptionStatuses, 8)

  beforeAll(async () => {
    world = await createWorld(database)
    shop = merchant(world)
    for (const { operation, status } of cases) ids[`${operation} ${status}`] = await createInState(shop, status)
    await shop.to('2026-02-21')
  })
  afterAll(async () => {
    await proveCharges(world)
    await world.drop()
  })

  test('the table of outcomes covers every operation and every status', () => {
    expect(Object.keys(outcomes).sort()).toEqual(Object.keys(operations).sort())
    expect(all).toHaveLength(Object.keys(operations).length * subscriptionStatuses.length)
  })

  test.each(cases)(
    'on a subscription that is $status, the operation "$operation" results in: $outcome',
    async ({ operation, status, outcome }) => {
      const id = String(ids[`${operation} ${status}`])
      const before = (await shop.get(id)).text
      expect(JSON.parse(before).data.attributes.status).toBe(status)
      const operate = operations[operation]
      if (operate === undefined) throw new Error(`unknown operation: ${operation}`)
      const answer = await operate(id, status)
      const after = (await shop.get(id)).text
      if (typeof outcome === 'number') {
        expectRefusal(answer, outcome === 404 ? 'not_found' : 'conflict')
        expect(after).toBe(before)
      } else {
        expect(ok(answer).json.data.attributes.status).toBe(outcome)
        expect(after).toBe(answer.text)
        if (status === 'canceled') expect(after).toBe(before)
      }
    },
  )

  test.each(statuses)(
    'filtered by the status %s, the list contains exactly the subscriptions that have that status now',
    async (status) => {
      const ownShop = merchant(world)
      const id = await createInState(ownShop, status === 'past_due' || status === 'needs_attention' ? 'active' : status)
      const { data } = ok(await world.get(`/subscriptions?status=${status}&limit=100`)).json
      for (const { attributes } of data) expect(attributes.status).toBe(status)
      const listed = data.map((item: { id: string }) => item.id)
      const now = (await ownShop.read(id)).status
      expect(listed.includes(id)).toBe(now === status)
      const all: { id: string; attributes: { status: string } }[] = ok(await world.get('/subscriptions?limit=100')).json
        .data
      const expected = all.filter(({ attributes }) => attributes.status === status).map((item) => item.id)
      expect(listed).toEqual(expect.arrayContaining(expected))
      expect((await world.get(`/subscriptions?status=${status}s`)).status).toBe(400)
    },
  )
})

onEachDatabase('canceled subscriptions', (database) => {
  test('no operation, no other card and no passage of time changes a canceled subscription', async () => {
    const world = await createWorld(database)
    try {
      const shop = merchant(world)
      const ids = await Promise.all(nonFinal.map((status) => createInState(shop, status)))
      await shop.to('2026-02-21')
      for (const [index, id] of ids.entries()) expect((await shop.read(id)).status).toBe(nonFinal[index])
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
      expect(charged).toEqual([0, 2, 1, 1])
      await proveCharges(world)
    } finally {
      await world.drop()
    }
  })
})
