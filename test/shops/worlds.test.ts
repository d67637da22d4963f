import { afterEach, expect, test } from 'vitest'
import { ownShops } from '../../src/worlds/own-shops.ts'
import { parseWorld } from '../../src/worlds/parse.ts'
import { proveBooks } from '../ledger/books.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { buy, cardFor, pay, shopOf, startCheckout } from './shopping.ts'

const parties = { acme: { wallets: { main: { balance: 50_000 } }, agents: { shopper: {} } } }
const stall = {
  id: 'market-stall',
  name: 'Market Stall',
  about: 'Fruit.',
  products: [{ id: 'apples', name: 'Apples', description: 'A bag.', price: 350 }],
}

let world: World | undefined
afterEach(() => world?.drop())

test('a world opens the built-in shops that it lists by purpose or id, and the shops that it defines', async () => {
  const file = parseWorld({ shops: ['last-step', 'millbrook-books', stall], parties }, 'world.yaml')
  world = await createWorld(sqlite, { world: file })
  const { data } = (await world.get('/simulations/shops')).json
  expect(data.map(({ id }: { id: string }) => id)).toEqual(['harbor-and-pine', 'millbrook-books', 'market-stall'])
  const missing = await world.get('/simulations/shops/plain-goods')
  expect([missing.status, missing.json.errors[0].detail]).toEqual([404, expect.stringContaining('market-stall')])
  const thirdShop = file.shops?.[2]
  if (typeof thirdShop !== 'object') throw new Error('The third shop is not defined in the file.')
  expect((await buy(world, thirdShop)).attributes).toMatchObject({ status: 'paid', total: 350 })
})

test('a shop that fails before charging charges only when the payment is retried with the same key', async () => {
  const shaky = { ...stall, answers: { failsOnce: 'before_charge' } }
  const file = parseWorld({ shops: [shaky], parties }, 'world.yaml')
  world = await createWorld(sqlite, { world: file })
  const { id, attributes } = await startCheckout(world, 'market-stall', { items: [{ productId: 'apples' }] })
  const { typed } = await cardFor(world, 'Market Stall')
  const sent = { idempotencyKey: 'once' }
  expect((await pay(world, id, typed, attributes.total, sent)).status).toBe(503)
  expect((await proveBooks(world.store)).transactions).toEqual([])
  expect((await pay(world, id, typed, attributes.total, sent)).json.data.attributes.status).toBe('paid')
})

test.each([
  [
    'an unknown shop',
    ['plane-goods'],
    'shops[0] got "plane-goods"; it is not a built-in shop (did you mean plain-goods?).',
  ],
  [
    'a shop listed twice',
    ['last-step', 'harbor-and-pine'],
    'shops[1] got "harbor-and-pine"; it has the same id as another shop of the file.',
  ],
  [
    'a second shop with the same name',
    [stall, { ...stall, id: 'other' }],
    'shops[1].name got "Market Stall"; it has the same name as another shop',
  ],
  [
    'a product listed twice',
    [{ ...stall, products: [stall.products[0], stall.products[0]] }],
    'shops[0].products[1].id got "apples"; it is a duplicate.',
  ],
  [
    'a shop with two ways to split a cart',
    [{ ...stall, splitsAbove: 100, captures: { parcels: 'first_only' } }],
    'shops[0].splitsAbove got 100; it cannot be combined with',
  ],
  [
    'a product with an invalid price',
    [{ ...stall, products: [{ ...stall.products[0], price: 3.5 }] }],
    'shops[0].products[0].price got 3.5',
  ],
])('%s is reported as a mistake', (_, shops, message) => {
  expect(() => parseWorld({ shops, parties }, 'world.yaml')).toThrow(message)
})

test('nothing that a buyer sees reveals the purpose of a shop', () => {
  const hidden = Object.keys(ownShops).filter((name) => name !== shopOf(name).id)
  expect(hidden.length).toBeGreaterThan(9)
  for (const shop of Object.values(ownShops)) {
    const shopText = JSON.stringify(shop).toLowerCase()
    for (const word of [...hidden, 'hostile', 'honest', 'attack', 'injection', 'sandbox', 'rehears']) {
      expect(shopText, shop.id).not.toContain(word)
    }
  }
})
