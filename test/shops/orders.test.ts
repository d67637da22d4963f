import { afterEach, beforeEach, expect, test } from 'vitest'
import { parseWorld } from '../../src/worlds/parse.ts'
import type { ShopDefinition } from '../../src/worlds/shops.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { buy, dayMs, letPass, orderNow, payWithNewCard, shopOf } from './shopping.ts'

onEachDatabase('orders at shops', (database) => {
  let world: World
  beforeEach(async () => {
    world = await createWorld(database)
  })
  afterEach(() => world.drop())

  const purchases = async () =>
    (await proveBooks(world.store)).transactions.map(({ kind, status, amountCents, capturedCents, updatedAtMs }) => {
      return { kind, status, amountCents, capturedCents, atMs: updatedAtMs }
    })

  test('an authorization is captured at the time of shipping, however late the order is read', async () => {
    const { attributes } = await buy(world, shopOf('ships-later'), { items: [{ productId: 'letterpress-basics' }] })
    const placedAtMs = Date.parse(attributes.updatedAt)
    expect(await orderNow(world, attributes.orderId)).toMatchObject({ status: 'placed', captured: 0, total: 3800 })
    await letPass(world, 90 * dayMs)
    expect(await orderNow(world, attributes.orderId)).toMatchObject({ status: 'shipped', captured: 3800 })
    expect(await purchases()).toMatchObject([{ status: 'captured', atMs: placedAtMs + 2 * dayMs }])
  })

  test('the first of two parcels is captured; the rest is released and paid at a second checkout', async () => {
    const shop = shopOf('two-parcels')
    const items = [{ productId: 'gas-stove' }, { productId: 'sleeping-pad', quantity: 2 }]
    const { attributes } = await buy(world, shop, { items })
    await letPass(world, dayMs)
    const first = await orderNow(world, attributes.orderId)
    expect(first).toMatchObject({ status: 'partly_shipped', captured: 4900, nextTotal: 17_800 })
    expect(first.items.map((item: { shipped: number }) => item.shipped)).toEqual([1, 0])
    const second = await payWithNewCard(world, shop, first.nextCheckoutId, first.nextTotal)
    await letPass(world, dayMs)
    expect(await orderNow(world, second.attributes.orderId)).toMatchObject({ status: 'shipped', captured: 17_800 })
    expect(await purchases()).toMatchObject([
      { status: 'partially_captured', amountCents: 22_700, capturedCents: 4900 },
      { status: 'captured', amountCents: 17_800 },
    ])
  })

  test('an order is canceled and its authorization reversed if the product is out of stock', async () => {
    const { attributes } = await buy(world, shopOf('sold-out'), { items: [{ productId: 'studio-headphones' }] })
    await letPass(world, 60 * 60_000)
    expect(await orderNow(world, attributes.orderId)).toMatchObject({
      status: 'canceled',
      captured: 0,
      nextEventAt: null,
    })
    expect(await purchases()).toMatchObject([{ status: 'reversed' }])
  })

  test('after a free trial, the charge to the used-up card is declined, and the order shows it as unpaid', async () => {
    const { attributes } = await buy(world, shopOf('trial-trap'), { items: [{ productId: 'omega-3' }] })
    expect((await orderNow(world, attributes.orderId)).subscription).toMatchObject({ status: 'trial', amount: 4900 })
    await letPass(world, 30 * dayMs)
    const { subscription } = await orderNow(world, attributes.orderId)
    expect(subscription).toMatchObject({ status: 'unpaid', nextChargeAt: null })
    const atMs = Date.parse(attributes.updatedAt) + 14 * dayMs
    expect(await purchases()).toMatchObject([
      { status: 'captured', amountCents: 2490 },
      { status: 'declined', amountCents: 4900, atMs },
    ])
    const without = await buy(world, shopOf('trial-trap'), { items: [{ productId: 'omega-3' }], extras: [] })
    expect((await orderNow(world, without.attributes.orderId)).subscription).toBeNull()
  })

  test('a return is refunded when the goods arrive at the shop, and a second return changes nothing', async () => {
    const { attributes } = await buy(world, shopOf('plain-goods'), { items: [{ productId: 'desk-lamp' }] })
    const path = `/simulations/shop-orders/${attributes.orderId}/return`
    const first = await world.post(path, { reason: 'Too bright' })
    const second = await world.post(path, {})
    expect(first.json.data.attributes).toMatchObject({ status: 'returning', refunded: 0 })
    expect(second.json.data.attributes).toEqual(first.json.data.attributes)
    await letPass(world, dayMs)
    expect(await orderNow(world, attributes.orderId)).toMatchObject({ status: 'returned', refunded: 6900 })
    expect((await purchases()).map(({ kind }) => kind)).toEqual(['purchase', 'refund'])
    expect((await world.post(path, {})).json.data.attributes.status).toBe('returned')
  })

  test('a return is refused before shipping, after the deadline, and at a shop without returns', async () => {
    const later = await buy(world, shopOf('ships-later'), { items: [{ productId: 'atlas-of-rivers' }] })
    const plain = await buy(world, shopOf('plain-goods'), { items: [{ productId: 'linen-towel' }] })
    const never = await buy(world, shopOf('last-step'), { items: [{ productId: 'linen-apron' }] })
    const back = async (orderId: string) => {
      const answer = await world.post(`/simulations/shop-orders/${orderId}/return`, {})
      return [answer.status, answer.json.errors[0].detail.replace(/\..*/, '')]
    }
    expect(await back(later.attributes.orderId)).toEqual([409, expect.stringContaining('is not shipped yet')])
    await letPass(world, 31 * dayMs)
    expect(await back(plain.attributes.orderId)).toEqual([409, expect.stringContaining('no longer accepts returns')])
    expect(await back(never.attributes.orderId)).toEqual([409, expect.stringContaining('no longer accepts returns')])
    const tickets = await buy(world, shopOf('moving-prices'), { items: [{ productId: 'jazz-matinee' }] })
    expect(await back(tickets.attributes.orderId)).toEqual([409, 'The shop accepts no returns'])
  })

  test('changes to an order are recorded as events, and a read never waits after the last change', async () => {
    const { attributes } = await buy(world, shopOf('ships-later'), { items: [{ productId: 'letterpress-basics' }] })
    await letPass(world, 2 * dayMs)
    const again = await world.get(`/simulations/shop-orders/${attributes.orderId}?waitSeconds=50`)
    expect(again.json.data.attributes.status).toBe('shipped')
    expect(world.system.slept).not.toContain(50_000)
    const types = await world.store.read(({ db }) => db.selectFrom('events').select('type').execute())
    expect(types.map(({ type }) => type).filter((type) => type.startsWith('shop_order.'))).toEqual([
      'shop_order.placed',
      'shop_order.shipped',
    ])
  })
})

onEachDatabase('holds that expire before the shop captures', (database) => {
  let world: World
  beforeEach(async () => {
    const late = { ...shopOf('ships-later'), id: 'late', name: 'Late', captures: { afterSeconds: 8 * 24 * 60 * 60 } }
    const file = {
      shops: [late],
      parties: { acme: { wallets: { main: { balance: 50_000 } }, agents: { shopper: {} } } },
    }
    world = await createWorld(database, { world: parseWorld(file, 'late.yaml') })
  })
  afterEach(() => world.drop())

  test.each([1, 9])(
    'an order whose hold expires is canceled and can be paid again (clock steps: %s days)',
    async (stepDays) => {
      const shop: ShopDefinition = { ...shopOf('ships-later'), name: 'Late', id: 'late' }
      const { attributes } = await buy(world, shop, { items: [{ productId: 'letterpress-basics' }] })
      const placedAtMs = Date.parse(attributes.updatedAt)
      for (let day = 0; day < 9; day += stepDays) await letPass(world, stepDays * dayMs)
      const order = await orderNow(world, attributes.orderId)
      expect(order).toMatchObject({ status: 'canceled', captured: 0, nextTotal: 3800, nextEventAt: null })
      expect(order.message).toContain('nothing is charged')
      expect(Date.parse(order.updatedAt)).toBe(placedAtMs + 8 * dayMs)
      const { transactions } = await proveBooks(world.store)
      expect(transactions).toMatchObject([{ status: 'reversed', updatedAtMs: placedAtMs + 7 * dayMs }])
      expect((await payWithNewCard(world, shop, order.nextCheckoutId, order.nextTotal)).attributes.status).toBe('paid')
    },
  )
})
