import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { expectRefusal } from '../service/refusals.ts'
import { databases } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { inParts, type Merchant, merchant, monthly, ok, proveCharges } from './merchant.ts'

// Payment 1 is paid on 15 January; the others fall due on the 15th. A payment is tried on its day and 1, 3 and 5 days
// later, so the last try of February's is on the 20th; its window closes on the 22nd.
describe.each(databases)('billing on $name', (database) => {
  let world: World
  let shop: Merchant

  beforeEach(async () => {
    if (world !== undefined) await proveCharges(world).finally(world.drop)
    world = await createWorld(database, { system: fakeSystem() })
    shop = merchant(world)
  })
  afterAll(async () => {
    await proveCharges(world)
    await world.drop()
  })

  const at = (day: string) => `2026-${day}T00:00:00.000Z`
  const dueIn = (paymentNumber: number, day: string) => expect.objectContaining({ paymentNumber, dueDate: `2026-${day}` })

  async function behaving(behavior: string, attributes: object = monthly): Promise<string> {
    const id = await shop.active({ ...attributes })
    ok(await shop.card(id, behavior))
    return id
  }

  test('a card that approves is charged on the day, each time', async () => {
    const id = await shop.active()
    expect(await shop.read(id)).toMatchObject({ status: 'active', nextPayment: dueIn(2, '02-15') })
    await shop.to('2026-05-14')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueIn(5, '05-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '2 2026-02-15', '3 2026-03-15', '4 2026-04-15'])
    expect((await shop.read(id)).updatedAt).toBe(at('04-15'))
  })

  test('a card that declines once is charged a day later, each time', async () => {
    const id = await behaving('declines_once')
    await shop.to('2026-02-15')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueIn(2, '02-15') })
    await shop.to('2026-02-15T23:59:59.999Z')
    expect(await shop.charged(id)).toHaveLength(1)
    await shop.to('2026-03-17')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueIn(4, '04-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '2 2026-02-16', '3 2026-03-16'])
  })

  test.each([
    ['02-15', '02-15'],
    ['02-15', '02-16'],
    ['02-17', '02-18'],
    ['02-19', '02-20'],
  ])('a card that is put right on %s is charged at the next try', async (_changed, tried) => {
    const id = await behaving('declines')
    await shop.to(new Date(Date.parse(at(tried)) - 1).toISOString())
    ok(await shop.card(id, 'approves'))
    expect(await shop.charged(id)).toHaveLength(1)
    world.system.pass(1)
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueIn(3, '03-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', `2 2026-${tried}`])
  })

  test.each(['declines', 'processor_error'])('%s: missed after the last try, later payments still charged', async (behavior) => {
    const id = await behaving(behavior)
    await shop.to('2026-02-19T23:59:59.999Z')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueIn(2, '02-15') })
    world.system.pass(1)
    expect(await shop.read(id)).toMatchObject({
      status: 'past_due',
      missedPayments: [2],
      attention: null,
      nextPayment: dueIn(3, '03-15'),
      updatedAt: at('02-20'),
    })
    ok(await shop.card(id, 'approves'))
    await shop.to('2026-04-01')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], nextPayment: dueIn(4, '04-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '3 2026-03-15'])
  })

  test.each([
    ['declines', 'declines', 'missed_twice'],
    ['processor_error', 'processor_error', 'not_charged'],
    ['declines', 'processor_error', 'not_charged'],
    ['processor_error', 'declines', 'missed_twice'],
  ])('%s, then %s: the later one says why, and collection stops', async (first, second, reason) => {
    const id = await behaving(first)
    ok(await shop.card(id, second, 3))
    await shop.to('2026-03-19')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], attention: null })
    await shop.to('2026-03-21')
    const stopped = { status: 'needs_attention', attention: { reason, since: at('03-20') } }
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2, 3], nextPayment: dueIn(4, '04-15') })
    ok(await shop.card(id, 'approves'))
    await shop.to('2026-04-21T23:59:59.999Z')
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2, 3], nextPayment: dueIn(4, '04-15') })
    world.system.pass(1)
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2, 3, 4], nextPayment: dueIn(5, '05-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15'])
  })

  test('the last try of the later payment says why', async () => {
    const id = await behaving('declines')
    await shop.to('2026-03-19')
    ok(await shop.card(id, 'processor_error'))
    await shop.to('2026-03-20')
    expect(await shop.read(id)).toMatchObject({ attention: { reason: 'not_charged', since: at('03-20') } })
  })

  const ruledOut = { blocked: 'card_blocked', needs_update: 'card_needs_update', removed: 'card_removed' }
  test.each(Object.entries(ruledOut))('%s: collection stops at the first try, with %s', async (behavior, reason) => {
    const id = await behaving(behavior)
    await shop.to('2026-02-14T23:59:59.999Z')
    expect(await shop.read(id)).toMatchObject({ status: 'active' })
    await shop.to('2026-02-16')
    const stopped = { status: 'needs_attention', attention: { reason, since: at('02-15') } }
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [], nextPayment: dueIn(2, '02-15') })
    ok(await shop.card(id, 'approves'))
    await shop.to('2026-02-21T23:59:59Z')
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [], nextPayment: dueIn(2, '02-15') })
    await shop.to('2026-02-22')
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2], nextPayment: dueIn(3, '03-15') })
    await shop.to('2026-05-01')
    expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2, 3, 4], nextPayment: dueIn(5, '05-15') })
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test.each(Object.entries(ruledOut))('%s on a retry: stops then, with %s', async (behavior, reason) => {
    const id = await behaving('declines')
    await shop.to('2026-02-16')
    ok(await shop.card(id, behavior))
    await shop.to('2026-02-28')
    expect(await shop.read(id)).toMatchObject({ status: 'needs_attention', attention: { reason, since: at('02-18') } })
  })

  test('a miss, a payment, a miss: not in a row', async () => {
    const id = await behaving('declines')
    ok(await shop.card(id, 'approves', 3))
    ok(await shop.card(id, 'declines', 4))
    await shop.to('2026-05-01')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2, 4], attention: null })
    await shop.to('2026-05-20')
    expect(await shop.read(id)).toMatchObject({
      status: 'needs_attention',
      missedPayments: [2, 4, 5],
      attention: { reason: 'missed_twice', since: at('05-20') },
    })
  })

  test('a missed payment that was marked paid breaks the row', async () => {
    const id = await behaving('declines')
    await shop.to('2026-03-01')
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
    await shop.to('2026-03-21')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [3], attention: null })
    await shop.to('2026-04-21')
    expect(await shop.read(id)).toMatchObject({ status: 'needs_attention', missedPayments: [3, 4] })
  })

  test('the next payment marked paid between two misses breaks the row', async () => {
    const id = await behaving('declines')
    await shop.to('2026-02-21')
    expect(ok(await shop.markPaid(id, 3)).json.data.attributes).toMatchObject({
      status: 'past_due',
      missedPayments: [2],
      nextPayment: dueIn(4, '04-15'),
    })
    await shop.to('2026-04-21')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2, 4], attention: null })
  })

  test('resumed inside the window: charged at once, and active', async () => {
    const id = await behaving('blocked')
    await shop.to('2026-02-18T09:30:00.000Z')
    ok(await shop.card(id, 'approves'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'active',
      attention: null,
      missedPayments: [],
      nextPayment: dueIn(3, '03-15'),
    })
    expect((await shop.charged(id)).map(({ chargedAtMs }) => chargedAtMs)[1]).toBe(Date.UTC(2026, 1, 18, 9, 30))
  })

  test('resumed with the card as it was: stops again, since then', async () => {
    const id = await behaving('blocked')
    await shop.to('2026-02-18T09:30:00.000Z')
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'needs_attention',
      attention: { reason: 'card_blocked', since: '2026-02-18T09:30:00.000Z' },
    })
  })

  test('resumed inside the window with a card that declines: tried again on the days left, then missed', async () => {
    const id = await behaving('blocked')
    await shop.to('2026-02-17')
    ok(await shop.card(id, 'declines'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
    await shop.to('2026-02-19T23:59:59Z')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [] })
    await shop.to('2026-02-20')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], attention: null })
  })

  test('resumed after the last day of retries, still inside the window: one try, then missed', async () => {
    const id = await behaving('blocked')
    await shop.to('2026-02-21')
    ok(await shop.card(id, 'declines'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'past_due', missedPayments: [2] })
  })

  test('resumed after the window closed: past_due, and charged when the next is due', async () => {
    const id = await behaving('removed')
    await shop.to('2026-02-22')
    ok(await shop.card(id, 'approves'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'past_due',
      attention: null,
      missedPayments: [2],
      nextPayment: dueIn(3, '03-15'),
    })
    await shop.to('2026-03-15')
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '3 2026-03-15'])
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
  })

  test('resumed after the missed ones were marked paid: active', async () => {
    const id = await behaving('declines')
    await shop.to('2026-03-20')
    for (const number of [2, 3]) {
      const { attributes } = ok(await shop.markPaid(id, number)).json.data
      expect(attributes).toMatchObject({ status: 'needs_attention', attention: { reason: 'missed_twice', since: at('03-20') } })
    }
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [], attention: null })
  })

  test('marked paid while collection stopped: never charged', async () => {
    const id = await behaving('blocked')
    await shop.to('2026-02-16')
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({
      status: 'needs_attention',
      missedPayments: [],
      nextPayment: dueIn(3, '03-15'),
    })
    ok(await shop.card(id, 'approves'))
    ok(await shop.resume(id))
    await shop.to('2026-03-15')
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '3 2026-03-15'])
  })

  test('the next payment, also between its tries, can be marked paid, others cannot', async () => {
    const id = await behaving('declines')
    ok(await shop.markPaid(id, 2))
    await shop.to('2026-03-16')
    for (const number of [1, 2]) expectRefusal(await shop.markPaid(id, number), 'conflict')
    for (const number of [4, 5, 1000]) expectRefusal(await shop.markPaid(id, number), 'conflict')
    expect(ok(await shop.markPaid(id, 3)).json.data.attributes).toMatchObject({ status: 'active', nextPayment: dueIn(4, '04-15') })
    expectRefusal(await shop.markPaid(id, 3), 'conflict')
    await shop.to('2026-04-01')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [] })
    expect(await shop.charged(id)).toHaveLength(1)
    const bad = ['0', '-1', '1.5', 'two', '1e400', '']
    for (const number of bad) {
      const { status } = await world.post(`/subscriptions/${id}/payments/${number}/mark-paid`, {})
      expect(status, number).toBe(number === '' ? 404 : 400)
    }
  })

  test('completed when the last is paid', async () => {
    const id = await shop.active(inParts(3))
    await shop.to('2026-03-14')
    expect(await shop.read(id)).toMatchObject({ status: 'active', nextPayment: dueIn(3, '03-15') })
    expectRefusal(await shop.markPaid(id, 4), 'not_found')
    await shop.to('2026-03-15')
    expect(await shop.read(id)).toMatchObject({ status: 'completed', nextPayment: null, missedPayments: [], updatedAt: at('03-15') })
    await shop.to('2027-03-15')
    expect(await shop.charged(id)).toHaveLength(3)
  })

  test('completed when the last is marked paid, also before it is due', async () => {
    const id = await shop.active(inParts(2))
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'completed', nextPayment: null })
    await shop.to('2027-01-01')
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('not completed while one is missed, and completed when it is marked paid', async () => {
    const id = await behaving('declines', inParts(3))
    ok(await shop.card(id, 'approves', 3))
    await shop.to('2026-06-01')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], nextPayment: null })
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({
      status: 'completed',
      missedPayments: [],
      nextPayment: null,
    })
    expect(await shop.charged(id)).toHaveLength(2)
  })

  test('completed when the last one, missed, is marked paid', async () => {
    const id = await behaving('declines', inParts(2))
    await shop.to('2026-02-20')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], nextPayment: null })
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'completed' })
  })

  test('resumed when all that was missing was marked paid meanwhile: completed', async () => {
    const id = await behaving('blocked', inParts(2))
    await shop.to('2026-04-01')
    expect(await shop.read(id)).toMatchObject({ status: 'needs_attention', missedPayments: [2], nextPayment: null })
    ok(await shop.markPaid(id, 2))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'completed', attention: null, nextPayment: null })
  })

  test('resumed when nothing can be charged any more and one is missed: past_due', async () => {
    const id = await behaving('blocked', inParts(2))
    await shop.to('2026-04-01')
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'past_due', missedPayments: [2], nextPayment: null })
  })

  test('the parts of a total are charged with their own amounts and taxes', async () => {
    const id = await shop.active({ ...inParts(3, 1000), taxAmount: 200 })
    await shop.to('2026-06-01')
    expect((await shop.charged(id)).map(({ amountCents, taxCents }) => [amountCents, taxCents])).toEqual([
      [334, 67],
      [333, 67],
      [333, 66],
    ])
  })

  test('a weekly payment is tried for its week only, whatever comes next', async () => {
    const id = await behaving('blocked', { ...monthly, every: { unit: 'week', count: 1 } })
    await shop.to('2026-01-28T23:59:59Z')
    expect(await shop.read(id)).toMatchObject({ missedPayments: [], nextPayment: dueIn(2, '01-22') })
    await shop.to('2026-01-29')
    expect(await shop.read(id)).toMatchObject({ missedPayments: [2], nextPayment: dueIn(3, '01-29') })
  })

  describe('checkout', () => {
    test('ends when it expires, at that moment and not before', async () => {
      const id = await shop.create({ ...monthly, expiresInMinutes: 5 })
      world.system.pass(299_999)
      expect(await shop.read(id)).toMatchObject({ status: 'pending', expiresAt: '2026-01-15T12:05:00.000Z' })
      world.system.pass(2)
      const ended = { status: 'canceled', nextPayment: null, checkoutUrl: null, clientSecret: null, mandateId: null }
      expect(await shop.read(id)).toMatchObject({ ...ended, updatedAt: '2026-01-15T12:05:00.000Z' })
      expectRefusal(await shop.checkout(id), 'conflict')
      expect(await shop.read(id)).toMatchObject(ended)
    })

    test('can be paid until the last moment, and does not expire when paid', async () => {
      const id = await shop.create()
      world.system.pass(86_400_000 - 1)
      ok(await shop.checkout(id))
      world.system.pass(1000)
      expect(await shop.read(id)).toMatchObject({ status: 'active', expiresAt: null })
    })

    test('with null never expires', async () => {
      const id = await shop.create({ ...monthly, expiresInMinutes: null })
      for (let year = 0; year < 3; year++) await shop.pass(3000)
      expect(await shop.read(id)).toMatchObject({
        status: 'pending',
        expiresAt: null,
        checkoutUrl: expect.any(String),
        clientSecret: expect.any(String),
      })
      expect(ok(await shop.checkout(id)).json.data.attributes.status).toBe('active')
    })

    test.each(cardBehaviors)('with a card that %s', async (card) => {
      const id = await shop.create()
      const pays = card === 'approves'
      const pending = { status: 'pending', mandateId: null, clientSecret: expect.any(String), nextPayment: expect.objectContaining({ paymentNumber: 1, dueDate: null }) }
      const active = { status: 'active', mandateId: expect.stringMatching(/^mdt_[0-9a-f]{32}$/), clientSecret: null }
      expect(ok(await shop.checkout(id, card)).json.data.attributes).toMatchObject(pays ? active : pending)
      expect(await shop.charged(id)).toHaveLength(pays ? 1 : 0)
      if (pays) return
      const again = await shop.checkout(id, card)
      expect(again.json.data.attributes).toMatchObject(card === 'declines_once' ? active : pending)
      if (card !== 'declines_once') expect(ok(await shop.checkout(id)).json.data.attributes).toMatchObject(active)
      expect(await shop.charged(id)).toHaveLength(1)
    })
  })
})
