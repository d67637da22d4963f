import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCheckout } from '../../src/service/pages/checkout/checkout.ts'
import { checkoutSecrets } from '../../src/service/tokens/checkout-secrets.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, ok, proveCharges, termsOfParts } from './merchant.ts'
import { createInState, gone, nonFinal } from './states.ts'

onEachDatabase("each row of the spec's status table", (database) => {
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
    expect(ok(await shop.cancel(id)).json.data.attributes).toMatchObject({
      status: 'canceled',
      ...gone,
      mandateId: null,
    })
    expectRefusal(await shop.checkout(id), 'conflict')
    const payer = createCheckout(world)
    const card = { number: '4242424242424242', expiry: '12/40', cvv: '123' }
    await expect(payer.pay(String(clientSecret), card)).rejects.toMatchObject({ code: 'conflict' })
    expect(await shop.charged(id)).toEqual([])
  })

  test('pending → canceled when expiresAt passes and checkout is unpaid', async () => {
    const id = await shop.create()
    await shop.pass(1)
    expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...gone, mandateId: null, missedPayments: [] })
  })

  test('pending → canceled when the agreement cannot be set up', async () => {
    const id = await shop.create()
    expect(ok(await shop.checkout(id, 'agreement_fails')).json.data.attributes).toMatchObject({
      status: 'canceled',
      ...gone,
    })
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

  test('active → needs_attention when the card rules out a retry; collection stops until resumed', async () => {
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

  test('past_due → needs_attention by a second miss in a row, or a card that rules out a retry', async () => {
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
    const ids = await Promise.all(nonFinal.map((status) => createInState(shop, status)))
    await shop.to('2026-02-21')
    for (const [index, id] of ids.entries()) expect((await shop.read(id)).status).toBe(nonFinal[index])
    const payer = createCheckout(world)
    for (const id of ids) await payer.stop(await manageTokenOf(world, id))
    for (const id of ids) expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...gone })
  })

  test('active → completed when every payment is paid, past_due → completed when the missed one is marked paid', async () => {
    const [paid, missing] = [await shop.active(termsOfParts(2)), await shop.active(termsOfParts(3))]
    await shop.card(missing, 'declines')
    await shop.card(missing, 'approves', 3)
    await shop.to('2026-04-01')
    expect(await shop.read(paid)).toMatchObject({ status: 'completed', ...gone })
    expect(await shop.read(missing)).toMatchObject({ status: 'past_due' })
    expect(ok(await shop.markPaid(missing, 2)).json.data.attributes).toMatchObject({ status: 'completed', ...gone })
  })

  test('canceled stays canceled when every payment was marked paid before', async () => {
    const id = await shop.active(termsOfParts(3))
    await shop.markPaid(id, 2)
    await shop.cancel(id)
    expectRefusal(await shop.markPaid(id, 3), 'conflict')
    await shop.pass(100)
    expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...gone })
  })
})

async function manageTokenOf({ store }: World, id: string): Promise<string> {
  return (await store.read(checkoutSecrets)).manageToken({ id, paymentIntentId: '' })
}
