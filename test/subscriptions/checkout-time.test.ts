import { afterEach, beforeEach, expect, test } from 'vitest'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, ok, proveCharges } from './merchant.ts'

onEachDatabase('expiration and cards of a checkout', (database) => {
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

  test('an unpaid checkout ends, and its subscription is canceled, exactly when the checkout expires', async () => {
    const id = await shop.create({ ...monthly, expiresInMinutes: 5 })
    world.system.pass(299_999)
    expect(await shop.read(id)).toMatchObject({ status: 'pending', expiresAt: '2026-01-15T12:05:00.000Z' })
    world.system.pass(2)
    const ended = { status: 'canceled', nextPayment: null, checkoutUrl: null, clientSecret: null, mandateId: null }
    expect(await shop.read(id)).toMatchObject({ ...ended, updatedAt: '2026-01-15T12:05:00.000Z' })
    expectRefusal(await shop.checkout(id), 'conflict')
    expect(await shop.read(id)).toMatchObject(ended)
  })

  test('a checkout can be paid until a millisecond before it expires, and the subscription then stays active', async () => {
    const id = await shop.create()
    world.system.pass(86_400_000 - 1)
    ok(await shop.checkout(id))
    world.system.pass(1000)
    expect(await shop.read(id)).toMatchObject({ status: 'active', expiresAt: null })
  })

  test('a checkout never expires if expiresAt is null', async () => {
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

  test('a card with the behavior agreement_fails ends the checkout', async () => {
    const id = await shop.create()
    const ended = { status: 'canceled', clientSecret: null, checkoutUrl: null, nextPayment: null, mandateId: null }
    expect(ok(await shop.checkout(id, 'agreement_fails')).json.data.attributes).toMatchObject(ended)
    expectRefusal(await shop.checkout(id), 'conflict')
    expect(await shop.charged(id)).toHaveLength(0)
  })

  test.each(cardBehaviors.filter((card) => card !== 'agreement_fails'))(
    'if the first card has the behavior %s, a checkout stays open until a charge of payment 1 succeeds',
    async (card) => {
      const id = await shop.create()
      const pays = card === 'approves'
      const pending = {
        status: 'pending',
        mandateId: null,
        clientSecret: expect.any(String),
        nextPayment: expect.objectContaining({ paymentNumber: 1, dueDate: null }),
      }
      const active = { status: 'active', mandateId: expect.stringMatching(/^mdt_[0-9a-f]{32}$/), clientSecret: null }
      expect(ok(await shop.checkout(id, card)).json.data.attributes).toMatchObject(pays ? active : pending)
      expect(await shop.charged(id)).toHaveLength(pays ? 1 : 0)
      if (pays) return
      const again = await shop.checkout(id, card)
      expect(again.json.data.attributes).toMatchObject(card === 'declines_once' ? active : pending)
      if (card !== 'declines_once') expect(ok(await shop.checkout(id)).json.data.attributes).toMatchObject(active)
      expect(await shop.charged(id)).toHaveLength(1)
    },
  )
})
