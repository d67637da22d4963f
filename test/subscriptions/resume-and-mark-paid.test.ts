import { afterEach, beforeEach, expect, test } from 'vitest'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, ok, proveCharges, termsOfParts } from './merchant.ts'

// Payment 1 is paid on January 15, and each later payment is due on the 15th of its month. A payment is tried on its
// due day and 1, 3 and 5 days later, so the last try of payment 2 is on February 20. If collection stops earlier and is
// not resumed, payment 2 is missed on February 22, seven days after its due day.
onEachDatabase('resuming, marking paid and completing a subscription', (database) => {
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

  test('a payment is charged at once if its subscription is resumed within the payment’s window', async () => {
    const id = await createWithCard('blocked')
    await shop.to('2026-02-18T09:30:00.000Z')
    ok(await shop.card(id, 'approves'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'active',
      attention: null,
      missedPayments: [],
      nextPayment: dueOn(3, '03-15'),
    })
    expect((await shop.charged(id)).map(({ chargedAtMs }) => chargedAtMs)[1]).toBe(Date.UTC(2026, 1, 18, 9, 30))
  })

  test('if a subscription is resumed while its card is still blocked, it needs attention again, from that time on', async () => {
    const id = await createWithCard('blocked')
    await shop.to('2026-02-18T09:30:00.000Z')
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'needs_attention',
      attention: { reason: 'card_blocked', since: '2026-02-18T09:30:00.000Z' },
    })
  })

  test('if a subscription is resumed with a card that declines, the payment is tried on its remaining days and then missed', async () => {
    const id = await createWithCard('blocked')
    await shop.to('2026-02-17')
    ok(await shop.card(id, 'declines'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
    await shop.to('2026-02-19T23:59:59Z')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [] })
    await shop.to('2026-02-20')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], attention: null })
  })

  test('if a subscription is resumed after the last retry day but within the window, a declined payment is missed at once', async () => {
    const id = await createWithCard('blocked')
    await shop.to('2026-02-21')
    ok(await shop.card(id, 'declines'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({ status: 'past_due', missedPayments: [2] })
  })

  test('a subscription becomes past_due if it is resumed after a payment’s window, and the next payment is charged when due', async () => {
    const id = await createWithCard('removed')
    await shop.to('2026-02-22')
    ok(await shop.card(id, 'approves'))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'past_due',
      attention: null,
      missedPayments: [2],
      nextPayment: dueOn(3, '03-15'),
    })
    await shop.to('2026-03-15')
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '3 2026-03-15'])
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
  })

  test('a subscription becomes active if it is resumed after its missed payments were marked paid', async () => {
    const id = await createWithCard('declines')
    await shop.to('2026-03-20')
    for (const number of [2, 3]) {
      const { attributes } = ok(await shop.markPaid(id, number)).json.data
      expect(attributes).toMatchObject({
        status: 'needs_attention',
        attention: { reason: 'missed_twice', since: at('03-20') },
      })
    }
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'active',
      missedPayments: [],
      attention: null,
    })
  })

  test('a payment that is marked paid while collection is stopped is never charged', async () => {
    const id = await createWithCard('blocked')
    await shop.to('2026-02-16')
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({
      status: 'needs_attention',
      missedPayments: [],
      nextPayment: dueOn(3, '03-15'),
    })
    ok(await shop.card(id, 'approves'))
    ok(await shop.resume(id))
    await shop.to('2026-03-15')
    expect(await shop.chargedOn(id)).toEqual(['1 2026-01-15', '3 2026-03-15'])
  })

  test('the next payment can be marked paid, even between its tries; payments already paid and payments after the next one cannot', async () => {
    const id = await createWithCard('declines')
    ok(await shop.markPaid(id, 2))
    await shop.to('2026-03-16')
    for (const number of [1, 2]) expectRefusal(await shop.markPaid(id, number), 'conflict')
    for (const number of [4, 5, 1000]) expectRefusal(await shop.markPaid(id, number), 'conflict')
    expect(ok(await shop.markPaid(id, 3)).json.data.attributes).toMatchObject({
      status: 'active',
      nextPayment: dueOn(4, '04-15'),
    })
    expectRefusal(await shop.markPaid(id, 3), 'conflict')
    await shop.to('2026-04-01')
    expect(await shop.read(id)).toMatchObject({ status: 'active', missedPayments: [] })
    expect(await shop.charged(id)).toHaveLength(1)
    const malformed = ['0', '-1', '1.5', 'two', '1e400', '']
    for (const number of malformed) {
      const { status } = await world.post(`/subscriptions/${id}/payments/${number}/mark-paid`, {})
      expect(status, number).toBe(number === '' ? 404 : 400)
    }
  })

  test('a subscription is completed when its last payment is paid', async () => {
    const id = await shop.active(termsOfParts(3))
    await shop.to('2026-03-14')
    expect(await shop.read(id)).toMatchObject({ status: 'active', nextPayment: dueOn(3, '03-15') })
    expectRefusal(await shop.markPaid(id, 4), 'not_found')
    await shop.to('2026-03-15')
    expect(await shop.read(id)).toMatchObject({
      status: 'completed',
      nextPayment: null,
      missedPayments: [],
      updatedAt: at('03-15'),
    })
    await shop.to('2027-03-15')
    expect(await shop.charged(id)).toHaveLength(3)
  })

  test('a subscription is completed when its last payment is marked paid, even before that payment is due', async () => {
    const id = await shop.active(termsOfParts(2))
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({
      status: 'completed',
      nextPayment: null,
    })
    await shop.to('2027-01-01')
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('a subscription with a missed payment is completed only when that payment is marked paid', async () => {
    const id = await createWithCard('declines', termsOfParts(3))
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

  test('a subscription whose last payment was missed is completed when that payment is marked paid', async () => {
    const id = await createWithCard('declines', termsOfParts(2))
    await shop.to('2026-02-20')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2], nextPayment: null })
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'completed' })
  })

  test('a subscription is completed if it is resumed after all its payments were paid or marked paid', async () => {
    const id = await createWithCard('blocked', termsOfParts(2))
    await shop.to('2026-04-01')
    expect(await shop.read(id)).toMatchObject({ status: 'needs_attention', missedPayments: [2], nextPayment: null })
    ok(await shop.markPaid(id, 2))
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'completed',
      attention: null,
      nextPayment: null,
    })
  })

  test('a subscription becomes past_due if it is resumed with a missed payment and no payment left to charge', async () => {
    const id = await createWithCard('blocked', termsOfParts(2))
    await shop.to('2026-04-01')
    expect(ok(await shop.resume(id)).json.data.attributes).toMatchObject({
      status: 'past_due',
      missedPayments: [2],
      nextPayment: null,
    })
  })
})
