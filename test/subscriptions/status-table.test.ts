import { afterEach, beforeEach, expect, test } from 'vitest'
import { createCheckout } from '../../src/service/pages/checkout/checkout.ts'
import { checkoutSecrets } from '../../src/service/tokens/checkout-secrets.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, ok, proveCharges, termsOfParts } from './merchant.ts'
import { createInState, finalNulls, nonFinal } from './states.ts'

onEachDatabase('the status of a subscription', (database) => {
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

  test('a new subscription is pending: its checkout is open, it has no mandate, and payment 1 has no due day', async () => {
    expect(await shop.read(await shop.create())).toMatchObject({
      status: 'pending',
      checkoutUrl: expect.any(String),
      clientSecret: expect.any(String),
      mandateId: null,
      nextPayment: { paymentNumber: 1, dueDate: null },
    })
  })

  test('a pending subscription becomes active and gets a mandateId when the payer makes payment 1', async () => {
    const id = await shop.create()
    expect(ok(await shop.checkout(id)).json.data.attributes).toMatchObject({
      status: 'active',
      mandateId: expect.stringMatching(/^mdt_/),
    })
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('a pending subscription that is canceled has no open checkout, and payment 1 can no longer be made', async () => {
    const id = await shop.create()
    const { clientSecret } = await shop.read(id)
    expect(ok(await shop.cancel(id)).json.data.attributes).toMatchObject({
      status: 'canceled',
      ...finalNulls,
      mandateId: null,
    })
    expectRefusal(await shop.checkout(id), 'conflict')
    const payer = createCheckout(world)
    const card = { number: '4242424242424242', expiry: '12/40', cvv: '123' }
    await expect(payer.pay(String(clientSecret), card)).rejects.toMatchObject({ code: 'conflict' })
    expect(await shop.charged(id)).toEqual([])
  })

  test('a pending subscription is canceled when its checkout expires unpaid', async () => {
    const id = await shop.create()
    await shop.pass(1)
    expect(await shop.read(id)).toMatchObject({
      status: 'canceled',
      ...finalNulls,
      mandateId: null,
      missedPayments: [],
    })
  })

  test('a pending subscription is canceled when the card agreement cannot be set up', async () => {
    const id = await shop.create()
    expect(ok(await shop.checkout(id, 'agreement_fails')).json.data.attributes).toMatchObject({
      status: 'canceled',
      ...finalNulls,
    })
    expect(await shop.read(id)).toMatchObject({ mandateId: null })
    expect(await shop.charged(id)).toEqual([])
  })

  test('an active subscription that is canceled is never charged again', async () => {
    const id = await shop.active()
    expect(ok(await shop.cancel(id)).json.data.attributes).toMatchObject({ status: 'canceled', ...finalNulls })
    await shop.pass(400)
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('an active subscription becomes past_due when a payment is missed; later payments are charged, the missed one never', async () => {
    const id = await shop.active()
    await shop.card(id, 'declines')
    await shop.card(id, 'approves', 3)
    await shop.to('2026-02-20')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2] })
    await shop.to('2026-05-01')
    expect((await shop.charged(id)).map(({ paymentNumber }) => paymentNumber)).toEqual([1, 3, 4])
    expect(await shop.read(id)).toMatchObject({ status: 'past_due', missedPayments: [2] })
  })

  test('a subscription stays past_due until its missed payment is marked paid', async () => {
    const id = await shop.active()
    await shop.card(id, 'declines')
    await shop.card(id, 'approves', 3)
    await shop.to('2027-01-01')
    expect(await shop.read(id)).toMatchObject({ status: 'past_due' })
    expect(ok(await shop.markPaid(id, 2)).json.data.attributes).toMatchObject({ status: 'active', missedPayments: [] })
  })

  test('an active subscription needs attention when its card rules out a retry; nothing is charged until it is resumed', async () => {
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

  test('a past_due subscription needs attention after a second miss in a row, or when its card rules out a retry', async () => {
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

  test('the payer can cancel a subscription in every status that is not final', async () => {
    const ids = await Promise.all(nonFinal.map((status) => createInState(shop, status)))
    await shop.to('2026-02-21')
    for (const [index, id] of ids.entries()) expect((await shop.read(id)).status).toBe(nonFinal[index])
    const payer = createCheckout(world)
    for (const id of ids) await payer.stop(await manageTokenOf(world, id))
    for (const id of ids) expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...finalNulls })
  })

  test('a subscription is completed when all its payments are paid, or when its only missed payment is marked paid', async () => {
    const [paid, missed] = [await shop.active(termsOfParts(2)), await shop.active(termsOfParts(3))]
    await shop.card(missed, 'declines')
    await shop.card(missed, 'approves', 3)
    await shop.to('2026-04-01')
    expect(await shop.read(paid)).toMatchObject({ status: 'completed', ...finalNulls })
    expect(await shop.read(missed)).toMatchObject({ status: 'past_due' })
    expect(ok(await shop.markPaid(missed, 2)).json.data.attributes).toMatchObject({
      status: 'completed',
      ...finalNulls,
    })
  })

  test('a subscription stays canceled: its last open payment can no longer be marked paid', async () => {
    const id = await shop.active(termsOfParts(3))
    await shop.markPaid(id, 2)
    await shop.cancel(id)
    expectRefusal(await shop.markPaid(id, 3), 'conflict')
    await shop.pass(100)
    expect(await shop.read(id)).toMatchObject({ status: 'canceled', ...finalNulls })
  })
})

async function manageTokenOf({ store }: World, id: string): Promise<string> {
  return (await store.read(checkoutSecrets)).manageToken({ id, paymentIntentId: '' })
}
