import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { keepEach } from '../support/keep-each.ts'
import { openTab, type Site, startBrowser, startSite, type Tab, type TestBrowser } from './browser.ts'

/** The server of a merchant's site. It has a strict Content-Security-Policy and a different host than the service. */
let shop: Server
let shopUrl: string
/** The page of the merchant's site, and the script of that page. */
let served: { html: string; script: string }
let site: Site
let browser: TestBrowser
let context: BrowserContext

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  shop = createServer((request, response) => {
    if (request.url === '/shop.js') {
      response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(served.script)
      return
    }
    const policy = `default-src 'none'; script-src 'self' ${site.listener.url}; frame-src ${site.listener.url}`
    response.writeHead(200, { 'Content-Type': 'text/html', 'Content-Security-Policy': policy }).end(served.html)
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  shopUrl = `http://localhost:${(shop.address() as AddressInfo).port}`
})
afterAll(async () => {
  await browser.close()
  shop.close()
  await site.close()
})
beforeEach(async () => {
  await context?.close()
  context = await browser.newContext()
})

async function visit(clientSecret: string, iframe = ''): Promise<Tab> {
  const library = `<script src="${site.listener.url}/checkout/library.js"></script>`
  served = {
    html: `<!doctype html><html lang="en"><title>Shop</title><div id="card"></div>${iframe || library}<script src="/shop.js"></script>`,
    script: iframe
      ? ''
      : `window.results = []
         const form = Payments.form({ clientSecret: ${JSON.stringify(clientSecret)}, onResult: (result) => results.push(result) })
         form.mount('#card')`,
  }
  return openTab(context, `${shopUrl}/`)
}

async function pay({ form }: Tab, number: string): Promise<void> {
  await form.getByLabel('Card number').fill(number)
  await form.getByLabel('Expires').fill('12/34')
  await form.getByLabel('Security code').fill('123')
  await form.getByRole('button', { name: /Agree and pay/ }).click()
}

const results = ({ page }: Tab) => page.evaluate('results') as Promise<{ result: string; detail: string }[]>

describe("the payment form library on a merchant's page", () => {
  test('the form shows the payment and charges the card, and the merchant’s page gets the results but no card data', async () => {
    const { id, clientSecret } = await site.subscribe()
    const tab = await visit(clientSecret)
    await tab.form.getByLabel('Card number').waitFor()
    for (const words of ['$20.00', 'Sandbox Organization', 'Gym membership', 'every month until you cancel']) {
      await expect.poll(() => tab.form.getByRole('region', { name: 'What you pay' }).textContent()).toContain(words)
    }
    await tab.form.getByRole('region', { name: 'What you pay' }).getByText('Sandbox: no real money').waitFor()
    await pay(tab, '4000 0000 0000 0002')
    await tab.form.getByRole('alert').getByText('was declined').waitFor()
    await pay(tab, '4242 4242 4242 4242')
    await tab.form.getByRole('heading', { name: 'Paid. Thank you.' }).waitFor()
    expect((await site.read(id)).status).toBe('active')
    await expect
      .poll(() => results(tab))
      .toEqual([
        { result: 'declined', detail: 'The card was declined. Try again, or use another card.' },
        { result: 'paid', detail: 'Paid. Thank you.' },
      ])
    expect(tab.complaints).toEqual([])
    for (const { url, body, headers } of tab.sent) {
      expect(`${url}${JSON.stringify(headers)}`).not.toMatch(/_secret_|4242/)
      if (!url.endsWith('/checkout/pay')) expect(body).not.toContain('4242')
    }
  })

  test('the library makes its frame as tall as the form', async () => {
    const tab = await visit((await site.subscribe()).clientSecret)
    await tab.form.getByText('Test cards').click()
    await expect
      .poll(() => tab.page.frames()[1]?.evaluate('document.documentElement.scrollHeight - innerHeight'))
      .toBe(0)
  })

  test.each([
    ['a canceled checkout', 'ended'],
    ['an invalid client secret', 'ended'],
    ['a paid checkout', 'paid'],
  ])('for %s, the library reports the result %j', async (state, result) => {
    const { id, clientSecret } = await site.subscribe()
    if (/canceled/.test(state)) await site.world.post(`/subscriptions/${id}/cancel`, {})
    if (/paid/.test(state)) await site.world.post(`/simulations/subscriptions/${id}/checkout`, { card: 'approves' })
    const tab = await visit(/invalid/.test(state) ? `${clientSecret}0` : clientSecret)
    await expect.poll(() => results(tab)).toEqual([{ result, detail: expect.stringMatching(/\S/) }])
    await expect.poll(() => tab.form.getByLabel('Card number').isVisible()).toBe(false)
  })

  test('the library reports that the bank refused the agreement to future payments', async () => {
    const tab = await visit((await site.subscribe()).clientSecret)
    await pay(tab, '4000 0000 0000 3063')
    await tab.form.getByText('did not accept the agreement').waitFor()
    await expect
      .poll(() => results(tab))
      .toEqual([{ result: 'agreement_failed', detail: expect.stringContaining('agreement') }])
  })

  test('the form accepts only one client secret, and only from the page that frames the form', async () => {
    const [first, second] = [await site.subscribe(), await site.subscribe({ description: 'Another thing' })]
    const tab = await visit(first.clientSecret)
    await tab.form.getByLabel('Card number').waitFor()
    const send = `(secret) => document.querySelector('iframe').contentWindow.postMessage({ clientSecret: secret }, '*', [new MessageChannel().port2])`
    await tab.page.evaluate(`(${send})(${JSON.stringify(second.clientSecret)})`)
    await pay(tab, '4242 4242 4242 4242')
    await tab.form.getByRole('heading', { name: 'Paid. Thank you.' }).waitFor()
    expect((await site.read(second.id)).status).toBe('pending')
    expect(tab.sent.every(({ body }) => !body.includes(second.clientSecret))).toBe(true)
    // If the form is opened directly instead of in a frame, it accepts no client secret.
    const unframed = await openTab(context, `${site.listener.url}/checkout/form`)
    await unframed.page.evaluate(
      `postMessage({ clientSecret: ${JSON.stringify(second.clientSecret)} }, '*', [new MessageChannel().port2])`,
    )
    await unframed.page.getByText('Loading the payment form').waitFor()
    expect(unframed.sent.filter(({ method }) => method === 'POST')).toEqual([])
  })

  test('invalid calls of the library throw errors that explain the problem', async () => {
    const tab = await visit((await site.subscribe()).clientSecret)
    const thrown = (code: string) =>
      tab.page.evaluate(`(() => { try { ${code} } catch (error) { return error.message } })()`)
    await expect.poll(() => thrown(`Payments.form({})`)).toContain('clientSecret must be')
    await expect
      .poll(() => thrown(`Payments.form({ clientSecret: 'x' }).mount('#none')`))
      .toContain('there is no element #none')
    await expect.poll(() => thrown(`form.mount('#card')`)).toContain('already mounted')
  })

  keepEach(3)
})

test('the hosted checkout page cannot be framed', async () => {
  const { url } = await site.subscribe()
  const tab = await visit('', `<iframe src="${url}"></iframe>`)
  await expect.poll(() => tab.complaints.join('\n')).toMatch(/frame-ancestors|X-Frame-Options/)
  await expect.poll(() => tab.page.frames()[1]?.content()).not.toContain('Gym membership')
})
