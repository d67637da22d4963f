import { afterEach, beforeEach, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, ok, proveCharges, termsOfParts } from './merchant.ts'

// Payment 1 is paid on January 15, and each later payment is due on the 15th of its month. A payment is tried on its
// due day and 1, 3 and 5 days later, so the last try of payment 2 is on February 20. If collection stops earlier and is
// not resumed, payment 2 is missed on February 22, seven days after its due day.
onEachDatabase('the billing of subscriptions', (database) => {
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

  const at = (day: string) => `2026-${day}T00:00:00.000Z`
  const dueOn = (paymentNumber: number, day: string) =>
    expect.objectContaining({ paymentNumber, dueDate: `2026-${day}` })

  async function createWithCard(behavior: string, attributes: object = monthly): Promise<string> {
    const id = await shop.active({ ...attributes })
    ok(await shop.card(id, behavior))
    return id
  }

  test('a card that approves is charged on each due day', async () => {
    const id = await shop.active()
    expect(await shop.read(id)).toMatchObject({ status: 'active', nextPayment: dueOn(2, '02-15') })
    await shop.to('2026-05-14')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueOn(5, '05-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '2 2026-02-15', '3 2026-03-15', '4 2026-04-15'])
    expect((await shop.read(id)).updatedAt).toBe(at('04-15'))
  })

  test("no payment is charged after the payer's bank ends the agreement", async () => {
    const id = await createWithCard('agreement_fails')
    await shop.to('2026-02-14')
    expect(await shop.read(id)).toMatchObject({ status: 'active' })
    await shop.to('2026-02-15')
    const ended = { status: 'canceled', nextPayment: null, attention: null, missedPayments: [], updatedAt: at('02-15') }
    expect(await shop.read(id)).toMatchObject(ended)
    await shop.to('2026-06-15')
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15'])
  })

  test('a card that declines the first try of each payment is charged one day later', async () => {
    const id = await createWithCard('declines_once')
    await shop.to('2026-02-15')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueOn(2, '02-15') })
    await shop.to('2026-02-15T23:59:59.999Z')
    expect(await shop.charged(id)).toHaveLength(1)
    await shop.to('2026-03-17')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueOn(4, '04-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '2 2026-02-16', '3 2026-03-16'])
  })

  const tries = ['02-15', '02-16', '02-18', '02-20']
  test.each(tries)('a card that approves again just before the try on %s is charged at that try', async (tried) => {
    const id = await createWithCard('declines')
    await shop.to(new Date(Date.parse(at(tried)) - 1).toISOString())
    ok(await shop.card(id, 'approves'))
    expect(await shop.charged(id)).toHaveLength(1)
    world.system.pass(1)
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [], nextPayment: dueOn(3, '03-15') })
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', `2 2026-${tried}`])
  })

  test.each(['declines', 'processor_error'])(
    'with the card behavior %s, a payment is missed after its last try; once the card approves, later payments are charged',
    async (behavior) => {
      const id = await createWithCard(behavior)
      await shop.to('2026-02-19T23:59:59.999Z')
      expect(await shop.read(id)).toMatchObject({
        status: 'active',
        missedPayments: [],
        nextPayment: dueOn(2, '02-15'),
      })
      world.system.pass(1)
      expect(await shop.read(id)).toMatchObject({
        status: 'past_due',
        missedPayments: [2],
        attention: null,
        nextPayment: dueOn(3, '03-15'),
        updatedAt: at('02-20'),
      })
      ok(await shop.card(id, 'approves'))
      await shop.to('2026-04-01')
      expect(await shop.read(id)).toMatchObject({
        status: 'past_due',
        missedPayments: [2],
        nextPayment: dueOn(4, '04-15'),
      })
      expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '3 2026-03-15'])
    },
  )

  test.each([
    ['declines', 'declines', 'missed_twice'],
    ['processor_error', 'processor_error', 'not_charged'],
    ['declines', 'processor_error', 'not_charged'],
    ['processor_error', 'declines', 'missed_twice'],
  ])(
    'if a payment is missed with the card behavior %s, and the next with %s, collection stops with the reason %s',
    async (first, second, reason) => {
      const id = await createWithCard(first)
      ok(await shop.card(id, second, 3))
      await shop.to('2026-03-19')
      expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], attention: null })
      await shop.to('2026-03-21')
      const stopped = { status: 'needs_attention', attention: { reason, since: at('03-20') } }
      expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2, 3], nextPayment: dueOn(4, '04-15') })
      ok(await shop.card(id, 'approves'))
      await shop.to('2026-04-21T23:59:59.999Z')
      expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2, 3], nextPayment: dueOn(4, '04-15') })
      world.system.pass(1)
      expect(await shop.read(id)).toMatchObject({
        ...stopped,
        missedPayments: [2, 3, 4],
        nextPayment: dueOn(5, '05-15'),
      })
      expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15'])
    },
  )

  test('if two payments in a row are missed, the last try of the second one determines the reason for attention', async () => {
    const id = await createWithCard('declines')
    await shop.to('2026-03-19')
    ok(await shop.card(id, 'processor_error'))
    await shop.to('2026-03-20')
    expect(await shop.read(id)).toMatchObject({ attention: { reason: 'not_charged', since: at('03-20') } })
  })

  const stopReasons = { blocked: 'card_blocked', needs_update: 'card_needs_update', removed: 'card_removed' }
  test.each(Object.entries(stopReasons))(
    'a first try with the card behavior %s stops collection with the reason %s',
    async (behavior, reason) => {
      const id = await createWithCard(behavior)
      await shop.to('2026-02-14T23:59:59.999Z')
      expect(await shop.read(id)).toMatchObject({ status: 'active' })
      await shop.to('2026-02-16')
      const stopped = { status: 'needs_attention', attention: { reason, since: at('02-15') } }
      expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [], nextPayment: dueOn(2, '02-15') })
      ok(await shop.card(id, 'approves'))
      await shop.to('2026-02-21T23:59:59Z')
      expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [], nextPayment: dueOn(2, '02-15') })
      await shop.to('2026-02-22')
      expect(await shop.read(id)).toMatchObject({ ...stopped, missedPayments: [2], nextPayment: dueOn(3, '03-15') })
      await shop.to('2026-05-01')
      expect(await shop.read(id)).toMatchObject({
        ...stopped,
        missedPayments: [2, 3, 4],
        nextPayment: dueOn(5, '05-15'),
      })
      expect(await shop.charged(id)).toHaveLength(1)
    },
  )

  test.each(Object.entries(stopReasons))(
    'a retry with the card behavior %s stops collection with the reason %s',
    async (behavior, reason) => {
      const id = await createWithCard('declines')
      await shop.to('2026-02-16')
      ok(await shop.card(id, behavior))
      await shop.to('2026-02-28')
      expect(await shop.read(id)).toMatchObject({
        status: 'needs_attention',
        attention: { reason, since: at('02-18') },
      })
    },
  )

  test('two missed payments with a charged payment between them do not stop collection', async () => {
    const id = await createWithCard('declines')
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

  test('a missed payment that was marked paid does not count as the first of two misses in a row', async () => {
    const id = await createWithCard('declines')
    await shop.to('2026-03-01')
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
    await shop.to('2026-03-21')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [3], attention: null })
    await shop.to('2026-04-21')
    expect(await shop.read(id)).toMatchObject({ status: 'needs_attention', missedPayments: [3, 4] })
  })

  test('two missed payments do not stop collection if the payment between them was marked paid', async () => {
    const id = await createWithCard('declines')
    await shop.to('2026-02-21')
    expect(ok(await shop.markPaid(id, 3)).json.data.attributes).toMatchObject({
      status: 'past_due',
      missedPayments: [2],
      nextPayment: dueOn(4, '04-15'),
    })
    await shop.to('2026-04-21')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2, 4], attention: null })
  })

  test('each part of a total amount is charged with its own amount and tax', async () => {
    const id = await shop.active({ ...termsOfParts(3, 1000), taxAmount: 200 })
    await shop.to('2026-06-01')
    expect((await shop.charged(id)).map(({ amountCents, taxCents }) => [amountCents, taxCents])).toEqual([
      [334, 67],
      [333, 67],
      [333, 66],
    ])
  })

  test('the window of a weekly payment closes when the next payment is due', async () => {
    const id = await createWithCard('blocked', { ...monthly, every: { unit: 'week', count: 1 } })
    await shop.to('2026-01-28T23:59:59Z')
    expect(await shop.read(id)).toMatchObject({ missedPayments: [], nextPayment: dueOn(2, '01-22') })
    await shop.to('2026-01-29')
    expect(await shop.read(id)).toMatchObject({ missedPayments: [2], nextPayment: dueOn(3, '01-29') })
  })
})
