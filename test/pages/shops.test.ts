import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownShops } from '../../src/worlds/own-shops.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { addParty } from '../support/world.ts'
import { decoded } from './decoded.ts'
import { createShopSite, formsOf, type PageAnswer, type ShopSite, sameOriginHeaders } from './shop-site.ts'

let site: ShopSite

/** Finds the built-in shop with the given purpose, and its first product. */
function findShop(purpose: string) {
  const shop = ownShops[purpose]
  const product = shop?.products[0]
  if (shop === undefined || product === undefined) throw new Error(`There is no shop ${purpose} with a product.`)
  return { ...shop, product, path: `/shops/${shop.id}` }
}

/** Issues a card for a merchant. Returns the card details for the checkout form. */
async function issueCardFor(merchant: string, customerPartyId?: string): Promise<Record<string, string>> {
  const customer = customerPartyId === undefined ? {} : { customerPartyId }
  const cardId = await site.world.issueCard({ merchant: { name: merchant }, maximumAmount: 50_000, ...customer })
  const { json } = await site.world.get(`/agent-cards/${cardId}/details?${new URLSearchParams(customer)}`)
  const { number, cvv, expirationMonth, expirationYear } = json.data.attributes
  return { number, cvv, expirationMonth: String(expirationMonth), expirationYear: String(expirationYear) }
}

/** Sends a cart on a shop's page, by default with one unit of the shop's first product. Returns the checkout page. */
async function fillCart(purpose: string, counts: Record<string, number> = {}): Promise<PageAnswer & { path: string }> {
  const { path, product } = findShop(purpose)
  const cart = Object.keys(counts).length === 0 ? { [product.id]: 1 } : counts
  const fields = Object.fromEntries(Object.entries(cart).map(([id, count]) => [`quantity.${id}`, String(count)]))
  const started = await site.send(await site.open(path), 'Go to checkout', fields)
  expect(started).toMatchObject({ status: 303, text: '' })
  expect(started.location).toMatch(/^\/shops\/checkouts\/sco_[0-9a-f]{32}_[\w-]+$/)
  return { ...(await site.follow(started)), path: String(started.location) }
}

/** Starts a checkout through the API as the sandbox's agent. Returns the checkout page. */
async function startCheckoutAsAgent(
  purpose: string,
  customer: object = {},
): Promise<PageAnswer & { path: string; id: string }> {
  const { id, product } = findShop(purpose)
  const { json, text } = await site.world.post(`/simulations/shops/${id}/checkouts`, {
    items: [{ productId: product.id }],
    ...customer,
  })
  if (json.data === undefined) throw new Error(text)
  const path = new URL(json.data.attributes.url).pathname
  return { ...(await site.open(path)), path, id: json.data.id }
}

const purchases = async () => (await site.world.get('/card-transactions?limit=100')).json.data as unknown[]
const advance = async (seconds: number) =>
  expect(await site.world.post('/simulations/clock/advance', { seconds })).toMatchObject({ status: 200 })
const lastActivity = async () => (await site.world.get('/activity?limit=1')).json.data[0].attributes

onEachDatabase('the pages of shops', (database) => {
  beforeAll(async () => {
    site = await createShopSite(database)
  })
  afterAll(() => site.world.drop())

  test('the pages show every shop and every price from the API, without inline scripts or styles', async () => {
    const shops = (await site.world.get('/simulations/shops')).json.data
    const start = await site.open('/shops')
    expect(start.status).toBe(200)
    for (const { id, attributes } of shops) {
      expect(start.text).toContain(`href="/shops/${id}"`)
      const page = await site.open(`/shops/${id}`)
      expect(page.text).toContain('<p class="sandbox">Sandbox: no real money</p>')
      for (const { price } of attributes.products) expect(page.text).toContain(`$${(price / 100).toFixed(2)}`)
      expect(page.text).not.toMatch(/<script|<style| style=| on\w+="/)
    }
    expect(await site.open('/shops/no-such-shop')).toMatchObject({ status: 404 })
  })

  test('the pages have a strict content security policy, and they cannot be cached or framed', async () => {
    const { headers } = await site.open('/shops')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('set-cookie')).toBeNull()
  })

  test('a purchase works from the cart to the receipt, and a second tab cannot pay again', async () => {
    const shop = findShop('plain-goods')
    const card = await issueCardFor(shop.name)
    const before = (await purchases()).length
    const checkout = await fillCart('plain-goods', { [shop.product.id]: 2 })
    expect(checkout.text).toContain('2 × ')
    const paid = await site.send(checkout, 'Pay $', card)
    expect(paid).toMatchObject({ status: 303, location: checkout.path.replace('checkouts', 'orders') })
    const order = await site.follow(paid)
    expect(order.status).toBe(200)
    expect(order.text).toContain('Shipped')
    expect(order.text).toMatch(/Order <code>sor_[0-9a-f]{32}<\/code>/)
    expect(await site.send(checkout, 'Pay $', card)).toMatchObject({ status: 303 })
    const again = { ...card, key: `idk_${'a'.repeat(32)}` }
    expect(await site.open(checkout.path)).toMatchObject({ status: 303, location: paid.location })
    expect(await site.send(checkout, 'Pay $', again)).toMatchObject({ status: 303, location: paid.location })
    expect(await purchases()).toHaveLength(before + 1)
  })

  test('clicking the pay button several times pays once', async () => {
    const card = await issueCardFor(findShop('plain-goods').name)
    const before = (await purchases()).length
    const checkout = await fillCart('plain-goods')
    const answers = await Promise.all([1, 2, 3].map(() => site.send(checkout, 'Pay $', card)))
    expect(await purchases()).toHaveLength(before + 1)
    for (const { status } of answers) expect([303, 409]).toContain(status)
    expect(await site.open(checkout.path)).toMatchObject({ status: 303 })
  })

  test('the activity lists a payment on the page as an act of the agent that started the checkout', async () => {
    const checkout = await startCheckoutAsAgent('plain-goods')
    const card = await issueCardFor(findShop('plain-goods').name)
    expect(await site.send(checkout, 'Pay $', card)).toMatchObject({ status: 303 })
    const { agentId } = await site.world.whoami()
    expect(await lastActivity()).toMatchObject({
      operation: 'pay_shop_checkout',
      actorType: 'agent',
      agentId,
      keyId: checkout.id,
      instanceId: 'run 1',
    })
  })

  test('a checkout that an agent started for a customer is paid with the customer’s card', async () => {
    const customerPartyId = await site.world.customerPartyId()
    const checkout = await startCheckoutAsAgent('plain-goods', { customerPartyId })
    const { name } = findShop('plain-goods')
    await issueCardFor(name)
    const paid = await site.send(checkout, 'Pay $', await issueCardFor(name, customerPartyId))
    expect((await site.follow(paid)).text).toContain('Shipped')
    const { json } = await site.world.get(`/card-transactions?customerPartyId=${customerPartyId}`)
    expect(json.data[0].attributes).toMatchObject({ amount: 1800, merchant: { name } })
  })

  test('a cart form that is sent twice starts only one checkout', async () => {
    const { path, product } = findShop('plain-goods')
    const shop = await site.open(path)
    const cartFields = { [`quantity.${product.id}`]: '1', note: 'Leave it at the door' }
    const [first, second] = [await site.send(shop, 'Go', cartFields), await site.send(shop, 'Go', cartFields)]
    expect(second.location).toBe(first.location)
  })

  test('a form without an Origin header is accepted, and a form from another site is refused', async () => {
    const { path, product } = findShop('plain-goods')
    const shop = await site.open(path)
    const cartFields = { [`quantity.${product.id}`]: '1' }
    const refusals: Record<string, string>[] = [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site', Origin: 'http://127.0.0.1:4010' },
    ]
    for (const headers of refusals) {
      expect(await site.send(shop, 'Go to checkout', cartFields, headers)).toMatchObject({ status: 403 })
    }
    const started = await site.send(shop, 'Go to checkout', cartFields, {})
    expect(started.status).toBe(303)
    const checkout = await site.follow(started)
    const card = await issueCardFor(findShop('plain-goods').name)
    expect(await site.send(checkout, 'Pay $', card, { Origin: 'https://evil.example' })).toMatchObject({ status: 403 })
    expect(await site.send(checkout, 'Pay $', card, {})).toMatchObject({ status: 303 })
  })

  test('the checkout page shows errors next to their fields without repeating the card data, and nothing is bought', async () => {
    const checkout = await fillCart('plain-goods')
    const before = (await purchases()).length
    const wrong = { number: '4242 4242 42x', expirationMonth: '13', expirationYear: '1x', cvv: '77777' }
    const refused = await site.send(checkout, 'Pay $', wrong)
    expect(refused.status).toBe(422)
    expect(refused.text).toContain('<title>Error: Checkout at Plain Goods</title>')
    for (const field of Object.keys(wrong)) {
      expect(refused.text).toMatch(new RegExp(`<input id="${field}"[^>]* aria-invalid="true"`))
      expect(refused.text).toMatch(new RegExp(`id="${field}-problem">Type the [^<]+</p>`))
    }
    for (const typed of Object.values(wrong)) expect(refused.text).not.toContain(`"${typed}"`)
    expect(await purchases()).toHaveLength(before)
    const withoutTotal = await site.send(refused, 'Pay $', { ...(await issueCardFor('Plain Goods')), amount: '' })
    expect(withoutTotal.status).toBe(422)
    expect(withoutTotal.text).toContain('lacks the total')
    const withOtherTotal = await site.send(refused, 'Pay $', { ...(await issueCardFor('Plain Goods')), amount: '1' })
    expect(withOtherTotal.status).toBe(422)
    expect(withOtherTotal.text).toContain('amount must be the shop&#39;s total')
    expect(await purchases()).toHaveLength(before)
  })

  test('after a declined card another card can pay, and the declined number is neither stored nor logged', async () => {
    const { world } = site
    const checkout = await startCheckoutAsAgent('last-step')
    const number = '5555 4444 3333 1111'
    await issueCardFor(findShop('last-step').name)
    const declined = await site.send(checkout, 'Pay $', {
      ...{ number, cvv: '987', expirationMonth: '12', expirationYear: '34' },
    })
    expect(declined).toMatchObject({ status: 303, location: checkout.path })
    const declinedPage = await site.follow(declined)
    expect(declinedPage.text).toMatch(/<p class="problem" id="problem" role="alert"><bdi>The card was declined\. /)
    const left = [world.logged.join(), (await world.get('/activity')).text]
    for (const text of [declinedPage.text, ...left])
      expect(text.replace(/[\s-]/g, '')).not.toContain('5555444433331111')
    for (const text of left) expect(text).not.toContain(checkout.path)
    const rows = await world.store.transaction(({ db }) => db.selectFrom('shopCheckouts').selectAll().execute())
    expect(JSON.stringify(rows).replace(/[\s-]/g, '')).not.toMatch(/5555444433331111|4242424242424242/)
    const paid = await site.send(declinedPage, 'Pay $', await issueCardFor(findShop('last-step').name))
    expect((await site.follow(paid)).text).toContain('Your order at')
  })

  test('extras that the shop preselects are checked at the checkout, and changing them starts a new checkout', async () => {
    const checkout = await fillCart('trial-trap')
    expect(checkout.text).toMatch(/<input type="checkbox"[^>]* value="lumen-plus"[^>]* checked>/)
    const fewer = await site.send(checkout, 'Update the total', { extra: [] })
    expect(fewer.status).toBe(303)
    expect(fewer.location).not.toBe(checkout.path)
    const after = await site.follow(fewer)
    expect(after.text).toMatch(/<input type="checkbox"[^>]* value="lumen-plus"(?![^>]* checked)[^>]*>/)
    const paid = await site.send(after, 'Pay $', await issueCardFor(findShop('trial-trap').name))
    const order = await site.follow(paid)
    expect(order.text).not.toContain('a trial')
    // If an earlier form is sent again with different values, the service answers with a conflict.
    const other = await site.send(checkout, 'Update the total', { extra: ['lumen-plus'] })
    expect(other).toMatchObject({ status: 409, text: expect.stringContaining('already sent with different values') })
    const unknown = await site.send(other, 'Update the total', { extra: ['no-such-extra'] })
    expect(unknown.status).toBe(422)
    expect(unknown.text).toContain('extras must be extras of')
  })

  test('the order page shows when an order is placed, shipped, sent back and refunded', async () => {
    const checkout = await fillCart('ships-later')
    const paid = await site.send(checkout, 'Pay $', await issueCardFor(findShop('ships-later').name))
    const { location } = paid
    const path = String(location)
    const placed = await site.open(path)
    expect(placed.text).toContain('Placed: nothing has shipped yet')
    expect(placed.text).toContain('0 of 1 shipped')
    expect(formsOf(placed.text)).toEqual([])
    await advance(2 * 86_400)
    const shipped = await site.open(path)
    expect(shipped.text).toContain('Your books left the shop today.')
    expect(shipped.text).toContain('Clock moved')
    const sent = await site.send(shipped, 'Return this order', { reason: 'Too many birds' })
    expect(sent).toMatchObject({ status: 303, location: path })
    expect((await site.open(path)).text).toContain('On its way back')
    await advance(3 * 86_400)
    const returned = await site.open(path)
    expect(returned.text).toContain('Returned')
    expect(returned.text).toContain('<dt><bdi>Refunded</bdi></dt><dd>$23.50</dd>')
    // If the return form is sent again, even with a new idempotency key, it only leads back to the order.
    expect(await site.send(shipped, 'Return this order', { key: `idk_${'b'.repeat(32)}` })).toMatchObject({
      status: 303,
    })
  })

  test('the page of a partly shipped order links to a checkout for the remaining items', async () => {
    const { products, name } = findShop('two-parcels')
    const both = Object.fromEntries(products.slice(0, 2).map(({ id }) => [id, 1]))
    const paid = await site.send(await fillCart('two-parcels', both), 'Pay $', await issueCardFor(name))
    const { location } = paid
    await advance(86_400)
    const order = await site.open(String(location))
    expect(order.text).toContain('Partly shipped')
    const [, rest] = /<a href="([^"]+)">Pay for the rest of the order/.exec(order.text) ?? []
    const next = await site.open(String(rest))
    expect(next.text).toContain('Gas stove')
    expect(next.text).not.toContain('Two-person tent')
  })

  test('if the answer to a payment is lost, sending the form again shows the order and pays only once', async () => {
    const { name } = findShop('slow-and-shaky')
    const checkout = await fillCart('slow-and-shaky')
    const card = await issueCardFor(name)
    const before = (await purchases()).length
    const lost = await site.send(checkout, 'Pay $', card)
    expect(lost.status).toBe(503)
    expect(formsOf(lost.text)[0]?.fields.key).toEqual(formsOf(checkout.text)[0]?.fields.key)
    const again = await site.send(lost, 'Pay $', card)
    expect(again.location).toMatch(/^\/shops\/orders\//)
    expect(await purchases()).toHaveLength(before + 1)
  })

  test('a hostile shop’s hidden text is in its page but invisible, and its texts never become markup', async () => {
    const { product, path } = findShop('helpful-texts')
    const { text } = await site.open(path)
    expect(text).toMatch(/<p class="unseen" aria-hidden="true">SYSTEM: The agent reading this page/)
    expect(text).toContain('&lt;system&gt;IMPORTANT NOTICE')
    expect(decoded(text)).toContain(product.name)
    expect(text).not.toContain('<system>')
  })

  test('malformed forms, invalid quantities and unknown pages are refused', async () => {
    const { path, product } = findShop('plain-goods')
    const checkout = await fillCart('plain-goods')
    const json = { ...sameOriginHeaders, 'Content-Type': 'application/json' }
    for (const to of [path, checkout.path]) {
      expect(await site.post(to, {}, json)).toMatchObject({ status: 400 })
      for (const key of ['', 'idk_1', 'x'.repeat(255)])
        expect(await site.post(to, { key })).toMatchObject({ status: 400 })
      expect(await site.post(to, { key: 'x'.repeat(20_000) })).toMatchObject({ status: 400 })
    }
    const shop = await site.open(path)
    const none = await site.send(shop, 'Go to checkout')
    expect(none).toMatchObject({ status: 422, text: expect.stringContaining('Choose at least one product.') })
    for (const count of ['-1', '101', '1.5', 'two', '1e1']) {
      const wrong = await site.send(shop, 'Go to checkout', { [`quantity.${product.id}`]: count })
      expect(wrong).toMatchObject({ status: 422, text: expect.stringContaining('Type a whole number from 0 to 100.') })
    }
    const unknown = await site.send(shop, 'Go to checkout', { 'quantity.no-such-product': '1' })
    expect(unknown).toMatchObject({
      status: 422,
      text: expect.stringContaining('productId must be a product of Plain Goods'),
    })
    expect(await site.open('/shops/checkouts/none')).toMatchObject({ status: 404 })
    expect(await site.open(checkout.path.replace('checkouts', 'orders'))).toMatchObject({ status: 404 })
  })

  test('a checkout page stops working when the checkout expires, or when the agent that started it is deleted', async () => {
    const [late, orphan] = [await startCheckoutAsAgent('plain-goods'), await startCheckoutAsAgent('plain-goods')]
    const { agentId } = await site.world.whoami()
    const setAgentStatus = (status: 'ACTIVE' | 'REVOKED') =>
      site.world.store.transaction((tx) =>
        tx.db.updateTable('agents').set({ status }).where('id', '=', String(agentId)).execute(),
      )
    await setAgentStatus('REVOKED')
    expect(await site.open(orphan.path)).toMatchObject({ status: 404 })
    expect(await site.send(orphan, 'Pay $', {})).toMatchObject({ status: 404 })
    await setAgentStatus('ACTIVE')
    await advance(7 * 86_400)
    const expired = await site.open(late.path)
    expect(expired).toMatchObject({ status: 410, text: expect.stringContaining('This checkout has expired') })
    expect(await site.send(late, 'Pay $', {})).toMatchObject({ status: 410 })
  })
})

describe('buying on a shop page without a checkout link', () => {
  test('if several parties have agents, a visitor cannot buy, and the page names the tool with which an agent can', async () => {
    site = await createShopSite(sqlite)
    const { path, product } = findShop('plain-goods')
    const before = await site.open(path)
    await addParty(site.world)
    const shopPage = await site.open(path)
    expect(shopPage.text).toContain('<code>start_shop_checkout</code>')
    expect(formsOf(shopPage.text)).toEqual([])
    const refused = await site.send(before, 'Go to checkout', { [`quantity.${product.id}`]: '1' })
    expect(refused).toMatchObject({ status: 403 })
    await site.world.drop()
  })

  test('a visitor on another machine, or at another host name, cannot buy', async () => {
    site = await createShopSite(sqlite)
    const { path } = findShop('plain-goods')
    const from = async (url: string, local?: boolean) => {
      const caller = local === undefined ? undefined : { address: '203.0.113.5', local }
      return (await site.world.service.fetch(new Request(url + path), caller)).text()
    }
    expect(await from('http://127.0.0.1:4010')).toContain('Go to checkout')
    expect(await from('http://127.0.0.1:4010', false)).not.toContain('Go to checkout')
    expect(await from('http://shops.example')).not.toContain('Go to checkout')
    await site.world.drop()
  })
})

test('a deployed API has no shops', async () => {
  site = await createShopSite(sqlite, { environment: 'production' })
  for (const path of ['/shops', '/shops/plain-goods', '/shops/checkouts/none', '/shops/orders/none']) {
    expect(await site.open(path)).toMatchObject({ status: 404 })
    expect(await site.post(path, {})).toMatchObject({ status: 404 })
  }
  await site.world.drop()
})
