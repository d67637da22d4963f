import { afterEach, beforeEach, expect, test } from 'vitest'
import { shopDeclines } from '../../tools/shops.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { cardFor, letPass, orderNow, pay, startCheckout } from './shopping.ts'

const mug = { items: [{ productId: 'stoneware-mug' }] }
const total = 1800

onEachDatabase('payments at a shop', (database) => {
  let world: World
  beforeEach(async () => {
    world = await createWorld(database)
  })
  afterEach(() => world.drop())

  /** For each decline code: card details that cause it, and how many declined card transactions the payment adds. */
  const cases: Record<keyof typeof shopDeclines, { declines: number; typed(checkout: Started): Promise<object> }> = {
    card_not_accepted: { declines: 0, typed: async ({ shopName }) => (await cardFor(world, shopName)).typed },
    wrong_card_details: {
      declines: 0,
      typed: async () => ({ ...(await cardFor(world, 'Plain Goods')).typed, cvv: '321' }),
    },
    other_merchant: { declines: 0, typed: async () => (await cardFor(world, 'Plain Goods Official')).typed },
    no_card: { declines: 0, typed: async () => someCard },
    card_frozen: {
      declines: 0,
      typed: async () => {
        const { cardId, typed } = await cardFor(world, 'Plain Goods')
        expect((await world.post(`/agent-cards/${cardId}/freeze`, {})).status).toBe(200)
        return typed
      },
    },
    over_agent_limit: {
      declines: 0,
      typed: async () => {
        const { typed } = await cardFor(world, 'Plain Goods')
        const { agentId } = await world.whoami()
        const limited = { attributes: { limits: { perTransaction: total - 1 } }, key: world.apiKey }
        expect((await world.send('PATCH', `/agents/${agentId}`, limited)).status).toBe(200)
        return typed
      },
    },
    single_use_card_expired: {
      declines: 1,
      typed: async () => {
        const { typed } = await cardFor(world, 'Plain Goods')
        await letPass(world, 61 * 60_000)
        return typed
      },
    },
    single_use_card_used: {
      declines: 1,
      typed: async () => {
        const { cardId, typed } = await cardFor(world, 'Plain Goods')
        expect((await world.authorize(cardId, 100)).status).toBe(200)
        return typed
      },
    },
    single_use_amount_over_maximum: {
      declines: 1,
      typed: async () => (await cardFor(world, 'Plain Goods', { maximumAmount: total - 1 })).typed,
    },
    insufficient_funds: {
      declines: 1,
      typed: async () => {
        const { cardId } = await cardFor(world, 'Elsewhere')
        expect((await world.authorize(cardId, 249_000)).status).toBe(200)
        return (await cardFor(world, 'Plain Goods')).typed
      },
    },
  }
  const someCard = { number: '4242424242424242', cvv: '123', expirationMonth: 1, expirationYear: 2030 }
  type Started = { checkoutId: string; shopName: string }

  test.each(Object.entries(cases))('a payment is declined with %s', async (code, { declines, typed }) => {
    const [shopId, shopName, cart, price] =
      code === 'card_not_accepted'
        ? ['casa-verde-furniture', 'Casa Verde Furniture', { items: [{ productId: 'oak-stool' }] }, 8900]
        : ['plain-goods', 'Plain Goods', mug, total]
    const { id: checkoutId } = await startCheckout(world, shopId, cart)
    const card = await typed({ checkoutId, shopName })
    const before = (await proveBooks(world.store)).transactions.map(({ id }) => id)
    const { json } = await pay(world, checkoutId, card, price)
    expect(json.data.attributes).toMatchObject({ status: 'open', orderId: null, decline: { code } })
    expect(json.data.attributes.decline.detail).toBe(shopDeclines[code as keyof typeof shopDeclines])
    const { transactions } = await proveBooks(world.store)
    const newTransactions = transactions.filter(({ id }) => !before.includes(id))
    expect(newTransactions.map(({ status }) => status)).toEqual(Array(declines).fill('declined'))
  })

  test('an amount other than the total is refused, the error states the total, and nothing is charged', async () => {
    const { id } = await startCheckout(world, 'plain-goods', mug)
    const { typed } = await cardFor(world, 'Plain Goods')
    const answer = await pay(world, id, typed, 18)
    expect(answer.status).toBe(422)
    expect(answer.json.errors[0]).toMatchObject({
      source: { pointer: '/data/attributes/amount' },
      meta: { minimum: total, maximum: total },
    })
    expect(answer.json.errors[0].detail).toContain('1800 ($18.00), got 18 ($0.18)')
    expect((await proveBooks(world.store)).transactions).toEqual([])
    expect((await pay(world, id, typed, total)).json.data.attributes.status).toBe('paid')
  })

  test('simultaneous payments of a checkout cause one charge; the refusal of a later one has the order id', async () => {
    const { id } = await startCheckout(world, 'plain-goods', { items: [{ productId: 'stoneware-mug', quantity: 2 }] })
    const { typed } = await cardFor(world, 'Plain Goods')
    await cardFor(world, 'Plain Goods')
    const sent = { idempotencyKey: 'one payment' }
    const answers = await Promise.all([1, 2, 3, 4].map((at) => pay(world, id, typed, 3600, at < 3 ? sent : {})))
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).not.toEqual([])
    const again = await pay(world, id, typed, 3600)
    const { orderId } = (await world.get('/activity?limit=20', { key: world.apiKey })).json.data
      .flatMap((entry: { attributes: { resourceIds: string[] } }) => entry.attributes.resourceIds)
      .reduce((found: object, one: string) => (one.startsWith('sor_') ? { orderId: one } : found), {})
    expect(again.status).toBe(409)
    if (orderId !== undefined) expect(again.json.errors[0].detail).toContain(orderId)
    const { transactions } = await proveBooks(world.store)
    expect(transactions.map(({ status }) => status)).toEqual(['captured'])
  })

  test('if a shop fails after charging, a retry with the same key only returns the paid checkout', async () => {
    const cart = { items: [{ productId: 'hdmi-adapter' }] }
    const { id, attributes } = await startCheckout(world, 'tidewater-electronics', cart)
    const { typed } = await cardFor(world, 'Tidewater Electronics')
    const sent = { idempotencyKey: 'shaky' }
    const lost = await pay(world, id, typed, attributes.total, sent)
    expect([lost.status, lost.json.errors[0].code, lost.json.errors[0].meta.retryable]).toEqual([
      503,
      'service_unavailable',
      true,
    ])
    const repeated = await pay(world, id, typed, attributes.total, sent)
    expect(repeated.headers.get('x-idempotency-replayed')).toBe('true')
    expect(repeated.json.data.attributes).toMatchObject({ status: 'paid' })
    expect(await orderNow(world, repeated.json.data.attributes.orderId)).toMatchObject({ captured: 2100 })
    expect((await pay(world, id, typed, attributes.total)).status).toBe(409)
    expect((await proveBooks(world.store)).transactions).toHaveLength(1)
    // This shop delays its answers by 1.5 s.
    expect(world.system.slept).toContain(1500)
  })

  test('an expired checkout cannot be paid', async () => {
    const { id } = await startCheckout(world, 'plain-goods', mug)
    await letPass(world, 24 * 60 * 60_000)
    const { typed } = await cardFor(world, 'Plain Goods')
    const answer = await pay(world, id, typed, total)
    expect([answer.status, answer.json.errors[0].code]).toEqual([409, 'conflict'])
    expect((await proveBooks(world.store)).transactions).toEqual([])
  })

  test('an unknown product, an unknown extra and a product listed twice are refused with an explanation', async () => {
    const invalidCarts = [
      [{ items: [{ productId: 'teapot' }] }, '/data/attributes/items/0/productId', 'stoneware-mug, dotted-notebook'],
      [{ ...mug, extras: ['gift-wrap'] }, '/data/attributes/extras/0', 'The shop has none: send [].'],
      [{ items: [mug.items[0], mug.items[0]] }, '/data/attributes/items/1/productId', 'twice'],
    ] as const
    for (const [attributes, pointer, expected] of invalidCarts) {
      const { status, json } = await world.post('/simulations/shops/plain-goods/checkouts', attributes)
      expect([status, json.errors[0].source.pointer]).toEqual([422, pointer])
      expect(json.errors[0].detail).toContain(expected)
    }
  })

  test("a customer's checkout can be paid only by a card on the customer's wallet", async () => {
    const customerPartyId = await world.customerPartyId()
    const { id } = await startCheckout(world, 'plain-goods', { ...mug, customerPartyId })
    const ownCard = await cardFor(world, 'Plain Goods')
    expect((await pay(world, id, { ...ownCard.typed, customerPartyId }, total)).json.data.attributes.decline.code).toBe(
      'no_card',
    )
    const { typed } = await cardFor(world, 'Plain Goods', { customerPartyId })
    const { json } = await pay(world, id, { ...typed, customerPartyId }, total)
    expect(json.data.attributes.status).toBe('paid')
    const { transactions } = await proveBooks(world.store)
    expect(transactions.map(({ partyId, status }) => [partyId, status])).toEqual([[customerPartyId, 'captured']])
  })

  test("secrets in a buyer's notes and return reasons are not stored", async () => {
    const key = `ak_ntl_sandbox_${'k'.repeat(32)}`
    const spellings = 'card4242424242424242, 4242/4242/4242/4242, 4242  4242 4242 – 4242, ٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢'
    const note = `My key is ${key}, card 4242 4242 4242 4242 cvv 987, code at the back: CVC: 987. ${spellings}`
    const { id, attributes } = await startCheckout(world, 'plain-goods', { ...mug, note })
    const { typed } = await cardFor(world, 'Plain Goods')
    const { orderId } = (await pay(world, id, typed, total)).json.data.attributes
    const reason = `refund me to 4242424242424242 987 please, ${key}`
    expect((await world.post(`/simulations/shop-orders/${orderId}/return`, { reason })).status).toBe(200)
    const rows = await world.store.read(async ({ db }) => [
      await db.selectFrom('shopCheckouts').selectAll().execute(),
      await db.selectFrom('shopOrders').selectAll().execute(),
      await db.selectFrom('activity').selectAll().execute(),
    ])
    const storedText = JSON.stringify(rows) + world.logged.join('\n')
    expect(storedText).toContain('My key is ak_ntl_sandbox_[masked]')
    for (const secret of [
      key,
      '4242 4242',
      '42424242',
      '4242/4242',
      '4242  4242',
      '٤٢٤٢',
      'cvv 987',
      'CVC: 987',
      attributes.url,
    ]) {
      expect(storedText).not.toContain(secret)
    }
  })
})
