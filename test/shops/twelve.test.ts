import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownShops } from '../../src/worlds/own-shops.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { buy, dayMs, letPass, orderNow, payWithNewCard } from './shopping.ts'

onEachDatabase('the built-in shops', (database) => {
  let world: World
  beforeEach(async () => {
    world = await createWorld(database)
  })
  afterEach(() => world.drop())

  test.each(Object.entries(ownShops))(
    'the shop %s charges at most what was agreed, and every hold ends',
    async (_, shop) => {
      const checkout = await buy(world, shop)
      let { orderId } = checkout.attributes
      if (!shop.takesCards) {
        expect(checkout.attributes.decline.code).toBe('card_not_accepted')
        expect((await proveBooks(world.store)).transactions).toEqual([])
        return
      }
      expect(checkout.attributes).toMatchObject({ status: 'paid', decline: null })
      let [agreed, orders] = [checkout.attributes.total, 0]
      for (; orderId !== null && orders < 5; orders++) {
        await letPass(world, 3 * dayMs)
        const order = await orderNow(world, orderId)
        const { nextCheckoutId, nextTotal } = order
        if (nextCheckoutId === null) break
        agreed += nextTotal
        orderId = (await payWithNewCard(world, shop, nextCheckoutId, nextTotal)).attributes.orderId
      }
      for (let day = 0; day < 90; day += 45) await letPass(world, 45 * dayMs)
      const { transactions, wallets } = await proveBooks(world.store)
      const captured = transactions.reduce((sum, one) => sum + one.capturedCents, 0)
      expect(transactions.every(({ heldCents }) => heldCents === 0)).toBe(true)
      expect(wallets.every(({ heldCents }) => heldCents === 0)).toBe(true)
      expect(captured).toBeLessThanOrEqual(agreed)
      const last = await orderNow(world, orderId)
      expect(last.nextEventAt).toBeNull()
      expect(['shipped', 'canceled']).toContain(last.status)
      expect(captured).toBe(last.status === 'canceled' ? 0 : checkout.attributes.total + checkout.attributes.otherOrder)
    },
  )
})
