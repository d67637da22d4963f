import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

onEachDatabase("the page at a payment's claimLink", (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  const page = async (link: string, init: RequestInit = {}) => {
    const answer = await world.service.fetch(new Request(link, { redirect: 'manual', ...init }))
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  let recipientCount = 0
  const pay = async () => {
    const value = `new${recipientCount++}@example.com`
    const attributes = { amount: 1234, counterparty: { type: 'email', value } }
    const { id, attributes: answered } = (await world.post('/payments', attributes)).json.data
    return { id: id as string, link: answered.claimLink as string, value }
  }
  const sameOriginHeaders = { Origin: 'http://127.0.0.1:4010', 'Sec-Fetch-Site': 'same-origin' }
  const formTokenIn = (text: string) => /name="formToken" value="(\w+)"/.exec(text)?.[1] ?? ''
  const claim = (link: string, formToken: string, headers: Record<string, string> = sameOriginHeaders) =>
    page(link, { method: 'POST', headers, body: new URLSearchParams({ formToken, decision: 'claim' }) })
  const payment = async (id: string) => (await world.get(`/payments/${id}`)).json.data
  const total = async () => (await world.get('/wallets', { key: world.apiKey })).json.data[0].attributes.balance.total

  test('the page shows the sender and the amount, and later that the payment was claimed', async () => {
    const { id, link } = await pay()
    const open = await page(link)
    expect(open.status).toBe(200)
    expect(open.text).toContain('Sandbox Organization')
    expect(open.text).toContain('$12.34')
    expect(open.text).toContain('Not claimed yet')
    expect(open.headers.get('Content-Security-Policy')).toContain("default-src 'none'")
    expect((await world.send('POST', `/simulations/payments/${id}/complete-claim`)).status).toBe(200)
    expect((await page(link)).text).toContain('The money is in the recipient’s wallet.')
  })

  test('the page of a canceled payment says that there is nothing to claim', async () => {
    const { id, link } = await pay()
    expect((await world.send('POST', `/payments/${id}/cancel`)).status).toBe(200)
    expect((await page(link)).text).toContain('nothing to claim')
  })

  test('in the sandbox, the tester can claim the payment as the recipient, but only once', async () => {
    const { id, link, value } = await pay()
    const before = await total()
    const open = await page(link)
    expect(open.text).toContain(`you claim it as the recipient, <bdi>${value}</bdi>`)
    const token = formTokenIn(open.text)
    const clicks = await Promise.all([claim(link, token), claim(link, token)])
    expect(clicks.map(({ status, headers }) => [status, headers.get('Location')])).toEqual([
      [303, new URL(link).pathname],
      [303, new URL(link).pathname],
    ])
    expect(await total()).toBe(before - 1234)
    const { attributes, relationships } = await payment(id)
    expect(attributes.status).toBe('COMPLETED')
    expect(relationships.recipient.data.id).toMatch(/^pty_/)
    const after = await page(link)
    expect(after.text).toContain('The money is in the recipient’s wallet.')
    expect(after.text).not.toContain('<form')
  })

  test('a claim works only from the payment’s own page, on this machine, and while the payment can still be claimed', async () => {
    const { id, link } = await pay()
    const token = formTokenIn((await page(link)).text)
    expect((await claim(link, 'f'.repeat(64))).status).toBe(403)
    expect((await claim(link, token, { ...sameOriginHeaders, 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    const other = await pay()
    expect((await claim(other.link, token)).text).toContain('out of date')
    const remote = await world.service.fetch(new Request(link), { local: false, address: '192.0.2.1' })
    expect(await remote.text()).not.toContain('<form')
    const withoutDecision = await page(link, {
      method: 'POST',
      headers: sameOriginHeaders,
      body: new URLSearchParams({ formToken: token }),
    })
    expect(withoutDecision.status).toBe(400)
    expect((await payment(id)).attributes.status).toBe('PENDING_CLAIM')
    expect((await world.send('POST', `/payments/${id}/cancel`)).status).toBe(200)
    expect((await claim(link, token)).status).toBe(303)
    expect((await payment(id)).attributes.status).toBe('CANCELED')
  })

  test('a claim link with a wrong token leads to a 404', async () => {
    const { link } = await pay()
    expect((await page(`${link}x`)).status).toBe(404)
    expect((await page(new URL('/claim/x', link).href)).status).toBe(404)
  })
})
