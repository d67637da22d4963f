import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CardMovement, capture, holdLifetimeMs, release } from '../../src/service/rules/card-purchases.ts'
import {
  dispatch,
  leftUnpaid,
  nextOfOrder,
  receive,
  type ShopOrder,
  sendBack,
  shopMoves,
} from '../../src/service/rules/shop-orders.ts'
import { fillCart, firstParcelCents, otherHalfOf, type PricedShop, restOf } from '../../src/service/rules/shops.ts'

const cents = fc.integer({ min: 1, max: 500_000 })
const product = (id: string) =>
  fc.record({ price: cents, available: fc.boolean() }).map((one) => ({ ...one, id, name: id }))

/** Shops with everything that affects a price: extras, taxes, shipping, and carts that are split into two orders. */
const shops: fc.Arbitrary<PricedShop> = fc.record({
  name: fc.constant('A shop'),
  products: fc.tuple(product('a'), product('b'), product('c')),
  extras: fc
    .record({ price: fc.integer({ min: 0, max: 5000 }), ticked: fc.boolean() })
    .map((one) => [{ ...one, id: 'plus', name: 'Plus', subscription: { amount: 4900, afterSeconds: 3600 } }]),
  prices: fc.record({
    taxPercent: fc.double({ min: 0, max: 30, noNaN: true }),
    shipping: fc.integer({ min: 0, max: 5000 }),
  }),
  splitsAbove: fc.option(cents, { nil: undefined }),
})

const carts = shops.chain((shop) =>
  fc
    .array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 })
    .map((counts) =>
      fillCart(shop, { items: counts.map((quantity, at) => ({ productId: 'abc'[at] ?? 'a', quantity })) }),
    ),
)

test('the parts of a cart add up to its total, however it is split', () => {
  fc.assert(
    fc.property(carts, (cart) => {
      const { subtotalCents, taxCents, shippingCents, otherOrderCents, totalCents, extras } = cart
      const added = extras.reduce((sum, { priceCents, selected }) => sum + (selected ? priceCents : 0), 0)
      expect(totalCents).toBe(subtotalCents + added + taxCents + shippingCents - otherOrderCents)
      expect(totalCents).toBeGreaterThan(0)
      if (cart.half === 'first') {
        expect(totalCents + otherHalfOf(cart).totalCents).toBe(totalCents + otherOrderCents)
        expect(otherHalfOf(cart).half).toBe('second')
      } else if (cart.lines.length > 1) {
        expect(firstParcelCents(cart) + restOf(cart).totalCents).toBe(totalCents)
        expect(firstParcelCents(cart)).toBeGreaterThan(0)
        expect(restOf(cart).totalCents).toBeGreaterThan(0)
      }
    }),
  )
})

/** Interference with an order: none, a capture or a reversal outside the shop, or a return by the buyer. */
const meddling = fc.constantFrom('nothing', 'capture', 'reverse', 'return')

test('an order ends despite any interference, and its shop never charges more than was agreed', () => {
  const delays = fc.integer({ min: 0, max: 20 * 24 * 3600 })
  fc.assert(
    fc.property(carts, delays, fc.boolean(), fc.boolean(), meddling, (cart, delay, firstOnly, isSoldOut, meddle) => {
      let order: ShopOrder = {
        status: 'placed',
        state: {
          cart,
          receipt: 'Thank you.',
          message: null,
          words: { shipped: null, canceled: null, returned: null },
          firstOnly: firstOnly && cart.half === null,
          outOfStock: isSoldOut ? ['a'] : [],
          shipsAtMs: 1000 * delay,
          shippedLines: 0,
          returns: { withinMs: 86_400_000, refundAfterMs: 3_600_000 },
          returnableUntilMs: null,
          refundsAtMs: null,
          returnReason: null,
          subscription: { description: 'Plus', amountCents: 4900, status: 'trial', chargesAtMs: 7_200_000 },
          next: null,
        },
      }
      let purchase: CardMovement = {
        status: 'authorized',
        amountCents: cart.totalCents,
        heldCents: cart.totalCents,
        capturedCents: 0,
        refundedCents: 0,
        holdExpiresAtMs: holdLifetimeMs,
      }
      if (meddle === 'capture') purchase = capture(purchase, purchase.amountCents)
      if (meddle === 'reverse') purchase = release(purchase, 'reverse')
      let lastMs = 0
      for (let steps = 0; ; steps++) {
        expect(steps).toBeLessThan(5)
        if (meddle === 'return' && (order.status === 'shipped' || order.status === 'partly_shipped')) {
          order = sendBack(order, null, lastMs)
        }
        const next = nextOfOrder(order)
        if (next === undefined) break
        expect(next.atMs).toBeGreaterThanOrEqual(lastMs)
        lastMs = next.atMs
        if (next.what === 'refundsAtMs') order = receive(order)
        else if (next.what === 'chargesAtMs') order = leftUnpaid(order)
        else {
          if (purchase.holdExpiresAtMs !== null && purchase.holdExpiresAtMs <= next.atMs)
            purchase = release(purchase, 'expire')
          const { money, unpaidCart, ...after } = dispatch(order, purchase, next.atMs)
          if (money?.do === 'capture') purchase = capture(purchase, money.cents)
          if (money?.do === 'reverse') purchase = release(purchase, 'reverse')
          // The captured amount plus the new unpaid cart is at most the agreed amount plus any capture outside the shop.
          expect((unpaidCart?.totalCents ?? 0) + purchase.capturedCents).toBeLessThanOrEqual(
            cart.totalCents + cart.otherOrderCents + (meddle === 'capture' ? cart.totalCents : 0),
          )
          order = after
        }
      }
      expect(Object.keys(shopMoves[order.status])).toEqual([])
      expect(purchase.status).not.toBe('authorized')
      expect(order.state.subscription?.status ?? 'unpaid').toBe('unpaid')
    }),
  )
})
