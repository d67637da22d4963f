import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testCards } from '../../src/service/rules/test-cards.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { type Answer, addKey, createWorld, type World } from '../support/world.ts'

const monthly = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 150 }
const card = { number: '4242 4242 4242 4242', expiry: '12/34', cvv: '987' }
const day = 86_400_000

async function subscribe(world: World, attributes: object = {}) {
  const { json, text } = await world.post('/subscriptions', { ...monthly, ...attributes })
  if (json.data === undefined) throw new Error(text)
  const { clientSecret, checkoutUrl } = json.data.attributes
  return { id: json.data.id as string, secret: clientSecret as string, path: new URL(checkoutUrl).pathname }
}

const statusOf = async (world: World, id: string) =>
  (await world.get(`/subscriptions/${id}`)).json.data.attributes.status
const balance = async (world: World) => (await world.get('/wallets')).json.data[0].attributes.balance.total

async function get(world: World, path: string, method = 'GET'): Promise<{ response: Response; text: string }> {
  const response = await world.service.fetch(new Request(`http://sandbox.test${path}`, { method }))
  return { response, text: await response.text() }
}

async function ask(world: World, action: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await world.service.fetch(
    new Request(`http://sandbox.test/checkout/${action}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify({ data: { attributes: body } }),
    }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

describe('the checkout over HTTP', () => {
  let world: World
  let id: string
  let secret: string
  let path: string
  beforeAll(async () => {
    world = await createWorld(sqlite)
    const subscription = await subscribe(world)
    id = subscription.id
    secret = subscription.secret
    path = subscription.path
  })
  afterAll(() => world.drop())

  const strict = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
  ]

  test('the checkout page has a strict Content-Security-Policy, is not cached and cannot be framed', async () => {
    const { response } = await get(world, path)
    const policy = response.headers.get('content-security-policy')?.split('; ')
    expect(policy).toEqual(expect.arrayContaining([...strict, "frame-ancestors 'none'"]))
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
    expect(response.headers.get('set-cookie')).toBeNull()
  })

  test('the card form has the same strict policy, but any page may frame it', async () => {
    const { response, text } = await get(world, '/checkout/form')
    const policy = response.headers.get('content-security-policy')?.split('; ')
    expect(policy).toEqual(expect.arrayContaining([...strict, 'frame-ancestors *']))
    expect(response.headers.get('x-frame-options')).toBeNull()
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin')
    expect(response.headers.get('cross-origin-embedder-policy')).toBe('require-corp')
    // Browsers do not submit fields without names, so no card data is submitted if the script fails to load.
    expect(text).not.toMatch(/<input[^>]* name=/)
  })

  test.each([
    ['checkout/library.js', 'text/javascript; charset=utf-8', 'cross-origin'],
    ['checkout/page.js', 'text/javascript; charset=utf-8', 'same-origin'],
    ['checkout/form.js', 'text/javascript; charset=utf-8', 'same-origin'],
    ['checkout/requests.js', 'text/javascript; charset=utf-8', 'same-origin'],
    ['styles/base.css', 'text/css; charset=utf-8', 'same-origin'],
    ['styles/checkout.css', 'text/css; charset=utf-8', 'same-origin'],
    ['styles/parts.css', 'text/css; charset=utf-8', 'same-origin'],
  ])('%s is served with its content type and resource policy', async (name, type, policy) => {
    const { response, text } = await get(world, `/${name}`)
    expect(response.status).toBe(200)
    expect(text.length).toBeGreaterThan(100)
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('cross-origin-resource-policy')).toBe(policy)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('no checkout page has an inline script or style, or mentions the address of another site', async () => {
    for (const one of [path, '/checkout/form', '/checkout/none']) {
      const { text } = await get(world, one)
      expect(text).not.toMatch(/<script(?![^>]* src="\/checkout\/)|<style| style=| on\w+=|https?:|javascript:/i)
    }
  })

  test.each(['none', 'sub_1', `sub_${'0'.repeat(32)}`, '..%2fform', '%00', 'form.js.map'])(
    'there is no page at /checkout/%s',
    async (name) => {
      const { response, text } = await get(world, `/checkout/${name}`)
      expect(response.status).toBe(404)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(text).toContain('<h1>Not found</h1>')
    },
  )

  test('the checkout page supports GET and HEAD; any other method gets 404', async () => {
    expect((await get(world, path, 'HEAD')).response.status).toBe(200)
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await get(world, path, method)).response.status).toBe(404)
    }
    expect((await get(world, '/checkout/pay')).response.status).toBe(404)
  })

  test('a client secret opens its own checkout', async () => {
    const answer = await ask(world, 'session', { clientSecret: secret })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.json.data.attributes).toMatchObject({
      status: 'pending',
      merchant: 'Sandbox Organization',
      amount: 2000,
      taxAmount: 150,
      words: { state: 'open', price: '$20.00', schedule: '$20.00 every month until you cancel' },
    })
    expect(answer.text).not.toContain(secret)
  })

  test('all wrong secrets are refused with the same message', async () => {
    const other = (await subscribe(world)).secret
    const [ownIntent] = secret.split('_secret_')
    const [, otherSeal] = other.split('_secret_')
    const wrong = [
      '',
      'x',
      `${secret}0`,
      secret.slice(0, -1),
      `${ownIntent}_secret_${otherSeal}`,
      `${ownIntent}_secret_${'0'.repeat(64)}`,
      `pmi_${'0'.repeat(32)}_secret_${'0'.repeat(64)}`,
    ]
    for (const action of ['session', 'pay', 'stop']) {
      const details = new Set<string>()
      for (const clientSecret of wrong) {
        const sent = action === 'stop' ? { manageToken: clientSecret } : { clientSecret }
        const answer = await ask(world, action, { ...sent, ...(action === 'pay' ? card : {}) })
        expectRefusal(answer, 'not_found')
        details.add(answer.json.errors[0].detail)
      }
      expect(details.size).toBe(1)
    }
    expect(await statusOf(world, id)).toBe('pending')
  })

  test.each(['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain', 'application/jsonp', ''])(
    'a request is refused if its content type is not application/json: %j',
    async (type) => {
      const answer = await ask(world, 'session', { clientSecret: secret }, { 'Content-Type': type })
      expectRefusal(answer, 'invalid_value', { source: { header: 'Content-Type' } })
    },
  )

  test.each([
    ['{', ''],
    ['[]', ''],
    ['{}', '/data'],
    ['{"data":{}}', '/data/attributes'],
    ['{"data":{"attributes":{"clientSecret":"x","more":1}}}', '/data/attributes'],
    ['{"clientSecret":"x"}', ''],
  ])('the malformed body %s is refused, and the error points to the part that is wrong', async (body, pointer) => {
    expectRefusal(await ask(world, 'session', body), 'invalid_value', { source: { pointer } })
  })

  test.each([
    [{}, 'clientSecret'],
    [{ clientSecret: 5, ...card }, 'clientSecret'],
    [{ clientSecret: 'x', ...card, number: 4242424242424242 }, 'number'],
    [{ clientSecret: 'x', ...card, cvv: '9'.repeat(101) }, 'cvv'],
  ])('the error names the missing or invalid attribute, and does not repeat its value', async (attributes, field) => {
    const answer = await ask(world, 'pay', attributes)
    expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: `/data/attributes/${field}` } })
    expect(answer.text).not.toMatch(/4242|9{9}|\b987\b/)
  })

  test('a body that is too long is refused, whether it is sent as a whole or streamed', async () => {
    const long = JSON.stringify({ data: { attributes: { clientSecret: 'x'.repeat(17_000) } } })
    expectRefusal(await ask(world, 'session', long), 'invalid_value', { source: { pointer: '' } })
    const chunks = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(' '.repeat(4096))),
    })
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: chunks, duplex: 'half' }
    const response = await world.service.fetch(new Request('http://sandbox.test/checkout/pay', init as RequestInit))
    expect(response.status).toBe(400)
  })

  test.each([
    [{ number: '' }, 'number'],
    [{ number: '4242 4242 4242 4241' }, 'number'],
    [{ number: '5555 5555 5555 4444' }, 'number'],
    [{ expiry: '13/34' }, 'expiry'],
    [{ expiry: '12/25' }, 'expiry'],
    [{ cvv: '12' }, 'cvv'],
  ])('a card with %j is refused, and the error does not repeat the card’s values', async (wrong, field) => {
    const answer = await ask(world, 'pay', { clientSecret: secret, ...card, ...wrong })
    expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: `/data/attributes/${field}` } })
    expect(answer.text).not.toMatch(/4242 |5555 |\b987\b/)
  })

  test('the page describes the payments in words, with amounts that add up to the total', async () => {
    const parts = { amount: undefined, totalAmount: 10_001, taxAmount: 700, paymentCount: 3 }
    const { text } = await get(world, (await subscribe(world, parts)).path)
    expect(text).toContain(
      '3 payments of $33.34, $33.34, $33.33, one every month: $100.01 in all, the last on March 15, 2026',
    )
    expect(text).toContain('includes $2.34 tax')
    expect(text).toContain('January 16, 2026, 12:00 PM UTC')
    const { secret: clientSecret } = await subscribe(world, {
      ...parts,
      totalAmount: 9000,
      every: { unit: 'week', count: 2 },
    })
    const { words } = (await ask(world, 'session', { clientSecret })).json.data.attributes
    expect(words.schedule).toBe('3 payments of $30.00, one every 2 weeks: $90.00 in all, the last on February 12, 2026')
    expect(words.agreement).toContain('$30.00 now, $30.00 on January 29, 2026 and $30.00 on February 12, 2026.')
  })

  test('the page mentions neither an expiration nor tax if there is none', async () => {
    const lasting = await subscribe(world, { expiresInMinutes: null, taxAmount: 0 })
    const { text } = await get(world, lasting.path)
    expect(text).toMatch(/id="expires" hidden/)
    expect(text).not.toContain('includes')
  })

  test('the merchant’s description is escaped, and cannot reverse the text around it', async () => {
    const description = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>\u202Egnp.exe`
    const odd = await subscribe(world, { description })
    const { text } = await get(world, odd.path)
    expect(text).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img src=x onerror=alert(2)&gt;\ufffdgnp.exe',
    )
    expect(text).not.toMatch(/<script>|<img/)
    expect(text).not.toContain('\u202E')
  })

  test('no card number is logged or stored, and neither security code nor client secret is logged', async () => {
    const { id: paid, secret: clientSecret } = await subscribe(world)
    await ask(world, 'pay', { clientSecret, ...card, number: '4000000000000002' })
    await ask(world, 'pay', { clientSecret, ...card, number: '4242424242424241' })
    await ask(world, 'pay', { clientSecret, ...card, more: card.number })
    expect((await ask(world, 'pay', { clientSecret, ...card })).json.data.attributes.result).toBe('paid')
    expect(await statusOf(world, paid)).toBe('active')
    const file = world.url.replace(/^sqlite:/, '')
    const stored = [file, `${file}-wal`].filter(existsSync).map((one) => readFileSync(one, 'latin1'))
    const logged = world.logged.join('\n')
    expect(logged).toContain('checkout')
    expect(stored.join('')).toContain(paid)
    expect(logged).not.toMatch(/_secret_|\b987\b/)
    for (const text of [logged, ...stored]) {
      for (const number of [...Object.keys(testCards), '4242424242424241', '4242 4242']) {
        expect(text.includes(number), number).toBe(false)
      }
    }
  })

  test('in production, the checkout mentions neither a sandbox nor test cards', async () => {
    const production = await createWorld(sqlite, { environment: 'production' })
    const real = await subscribe(production)
    for (const one of [real.path, '/checkout/form']) {
      const { response, text } = await get(production, one)
      expect(response.status).toBe(200)
      expect(text).not.toMatch(/sandbox: |test card|4242/i)
    }
    await production.drop()
  })

  test('a checkout page that fails says so, without internal details', async () => {
    const brokenWorld = await createWorld(sqlite)
    const lost = await subscribe(brokenWorld)
    await brokenWorld.drop()
    const { response, text } = await get(brokenWorld, lost.path)
    expect(response.status).toBe(503)
    expect(text).toMatch(/Something went wrong[\s\S]*req_[0-9a-f]{32}/)
    expect(text).not.toMatch(/sqlite|database|\.ts/i)
    expectRefusal(await ask(brokenWorld, 'session', { clientSecret: secret }), 'service_unavailable')
  })
})

onEachDatabase('a checkout', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('a subscription’s id, a wrong token or another subscription’s token opens no checkout page', async () => {
    const { id, path, secret: clientSecret } = await subscribe(world)
    const other = await subscribe(world)
    const token = path.split('/').at(-1)
    const wrong = [
      id,
      `${id}/`,
      `${id}/${id}`,
      `${id}/x`,
      `${id}/${token}0`,
      `${other.id}/${token}`,
      `manage/${id}`,
      `manage/${token}`,
    ]
    for (const address of [...wrong, `manage/${id}_manage_${token}`, `manage/${clientSecret}`]) {
      const { response, text } = await get(world, `/checkout/${address}`)
      expect(response.status, address).toBe(404)
      expect(text, address).not.toMatch(/_secret_|_manage_|Gym|Sandbox Organization/)
    }
    expect((await get(world, path)).text).toContain(clientSecret)
  })

  test('after the payment, the page shows no secrets, and only the payer can stop future payments', async () => {
    const { id, path, secret: clientSecret } = await subscribe(world)
    const { partyId } = await world.whoami(world.apiKey)
    const reader = await addKey(world, { partyId, agentId: null, scopes: ['payments.read'] })
    const payment = { clientSecret, ...card, payerKey: 'a payer’s browser' }
    const paid = (await ask(world, 'pay', payment)).json.data.attributes
    expect(paid.manageToken).toMatch(new RegExp(`^${id}_manage_`))
    const { attributes } = (await world.get(`/subscriptions/${id}`, { key: reader })).json.data
    expect(attributes).toMatchObject({ status: 'active', checkoutUrl: null, clientSecret: null })
    const { text } = await get(world, path)
    expect(text).toContain('<h2>Paid. Thank you.</h2>')
    expect(text).toMatch(/<button id="stop"[^>]* hidden>/)
    for (const secret of ['_secret_', '_manage_']) expect(text).not.toContain(secret)
    // A different payer learns that the subscription is paid, but gets no token to manage the subscription.
    expect((await ask(world, 'pay', { ...payment, payerKey: 'another' })).json.data.attributes.manageToken).toBeNull()
    expectRefusal(await ask(world, 'stop', { clientSecret }), 'invalid_value', {
      source: { pointer: '/data/attributes' },
    })
    for (const lesser of [clientSecret, id, path.split('/').at(-1), '']) {
      expectRefusal(await ask(world, 'stop', { manageToken: lesser }), 'not_found')
    }
    expect(await statusOf(world, id)).toBe('active')
    const manage = await get(world, `/checkout/manage/${paid.manageToken}`)
    expect(manage.response.status).toBe(200)
    expect(manage.text).not.toMatch(/<button id="stop"[^>]* hidden>/)
    expect(manage.text).not.toContain('_secret_')
    expect((await ask(world, 'pay', payment)).json.data.attributes.manageToken).toBe(paid.manageToken)
    expect((await ask(world, 'stop', { manageToken: paid.manageToken })).status).toBe(200)
    expect(await statusOf(world, id)).toBe('canceled')
    expect((await get(world, `/checkout/manage/${paid.manageToken}`)).text).toContain(
      '<h2>This subscription has ended</h2>',
    )
    expect(world.logged.join('\n')).not.toMatch(/_secret_|_manage_/)
  })

  test('eight simultaneous payments of one checkout are charged once', async () => {
    const { id, path, secret: clientSecret } = await subscribe(world)
    const before = await balance(world)
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(world, 'pay', { clientSecret, ...card })))
    expect(answers.map(({ json }) => json.data?.attributes.result)).toEqual(Array(8).fill('paid'))
    expect(await balance(world)).toBe(before + 2000)
    expect(await statusOf(world, id)).toBe('active')
    const { text } = await get(world, path)
    expect(text).toContain('<h2>Paid. Thank you.</h2>')
    expect(text).toContain('The next payment of $20.00 is on February 15, 2026.')
  })

  test('a subscription that the payer stops is canceled for good; stopping it again changes nothing', async () => {
    const { id, secret: clientSecret } = await subscribe(world)
    const { manageToken } = (await ask(world, 'pay', { clientSecret, ...card })).json.data.attributes
    for (let times = 0; times < 2; times++) {
      const answer = await ask(world, 'stop', { manageToken })
      expect(answer.json.data.attributes).toMatchObject({
        status: 'canceled',
        words: { state: 'over', mayStop: false },
      })
    }
    expect(await statusOf(world, id)).toBe('canceled')
    expectRefusal(await ask(world, 'pay', { clientSecret, ...card }), 'conflict')
  })

  test('a checkout ends if it is canceled, if it expires, or if the bank refuses the agreement', async () => {
    const canceled = await subscribe(world)
    await world.post(`/subscriptions/${canceled.id}/cancel`, {})
    const refused = await subscribe(world)
    const failing = { clientSecret: refused.secret, ...card, number: '4000000000003063' }
    expect((await ask(world, 'pay', failing)).json.data.attributes.result).toBe('agreement_failed')
    const expired = await subscribe(world)
    world.system.pass(day)
    const before = await balance(world)
    for (const { path, secret: clientSecret } of [canceled, refused, expired]) {
      const session = await ask(world, 'session', { clientSecret })
      expect(session.json.data.attributes).toMatchObject({ status: 'canceled', words: { state: 'over' } })
      expectRefusal(await ask(world, 'pay', { clientSecret, ...card }), 'conflict')
      expect((await get(world, path)).text).toContain('<h2>This subscription has ended</h2>')
    }
    expect(await balance(world)).toBe(before)
  })
})
