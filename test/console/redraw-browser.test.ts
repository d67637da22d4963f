import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Site, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { ok, payer } from '../payments/payer.ts'
import { createPaymentInReview, openConsole, waitUntilLive } from './open-console.ts'

let site: Site
let browser: TestBrowser
let walletPath: string

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  walletPath = `/console/money/wallets/${ok(await site.world.get('/wallets')).json.data[0].id}`
  await purchaseOf(100)
  await createPaymentInReview(site, 'Waits first')
  await setFault('first')
  await save('first')
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

const open = (path: string) => openConsole({ browser, site }, path)
const purchaseOf = async (maximumAmount: number) =>
  ok(await site.world.authorize(await site.world.issueCard({ maximumAmount }), maximumAmount))
const setFault = async (id: string) =>
  ok(await site.world.post('/simulations/faults', { id, operation: 'get_webhook', fault: 'slow' }))
const save = async (name: string) => ok(await site.world.post('/simulations/snapshots', { name }))

/**
 * Stores the first matching element as `window.taken`, and runs the script `action`, which can access the element as
 * `it`.
 */
const take = (page: Page, selector: string, action = 'it.focus()') =>
  page.evaluate(`{ const it = document.querySelector(${JSON.stringify(selector)}); window.taken = it; ${action} }`)
const isFocused = (page: Page) => page.evaluate('document.activeElement === window.taken && window.taken.isConnected')

/**
 * A script that returns the rows that have focusable elements but no id. A redraw matches the old and the new rows by
 * their ids.
 */
const rowsWithoutId = `[...document.querySelectorAll('[data-live] :is(li, tr, [role="listitem"]):has(a, button, summary)')]
  .filter((it) => !it.id).map((it) => it.outerHTML)`

const [money, sandbox] = ['/console/money', '/console/sandbox']
const row = (page: Page, name: RegExp) => page.getByRole('row', { name }).first()

test.each([
  {
    part: 'the list of runs',
    path: () => '/console',
    element: '[data-live] a',
    change: () => site.world.get('/whoami', { instanceId: 'the newest run' }),
    shown: (page: Page) => page.getByRole('link', { name: 'the newest run' }),
  },
  {
    part: 'the pending decisions',
    path: () => money,
    element: '[data-source*="waiting"] button[value="approve"]',
    change: () => createPaymentInReview(site, 'Also waits'),
    shown: (page: Page) => page.getByText('Also waits').first(),
  },
  {
    part: 'the wallets',
    path: () => money,
    element: '[data-source*="wallets"] a',
    change: () => purchaseOf(1111),
    shown: (page: Page) => row(page, /\$11\.11/),
  },
  {
    part: 'the lists on the money page',
    path: () => money,
    element: '[data-source*="lists"] tr a',
    change: () => purchaseOf(2222),
    shown: (page: Page) => row(page, /\$22\.22/),
  },
  {
    part: 'the page of a wallet',
    path: () => walletPath,
    element: 'main tr a',
    change: () => purchaseOf(3333),
    shown: (page: Page) => row(page, /-\$33\.33/),
  },
  {
    part: 'the list of faults',
    path: () => sandbox,
    element: '[data-source*="faults"] button',
    change: () => setFault('another'),
    shown: (page: Page) => page.getByRole('rowheader', { name: 'another' }),
  },
  {
    part: 'the list of snapshots',
    path: () => sandbox,
    element: '[data-source*="snapshots"] button:not(details *)',
    change: () => save('another'),
    shown: (page: Page) => page.getByText('another', { exact: true }).last(),
  },
])('a focused element in $part keeps the focus during a redraw', async ({ path, element, change, shown }) => {
  const { page, context, complaints } = await open(path())
  await waitUntilLive(page)
  await take(page, element)
  await expect.poll(() => isFocused(page)).toBe(true)
  await expect.poll(() => page.evaluate(rowsWithoutId)).toEqual([])
  await change()
  await shown(page).waitFor()
  await expect.poll(() => isFocused(page)).toBe(true)
  expect(complaints).toEqual([])
  await context.close()
})

test('a button of the sandbox clock keeps the focus even if the hidden fields of its form change', async () => {
  const { page, context } = await open(sandbox)
  await waitUntilLive(page)
  await take(page, '#day')
  ok(await site.world.post('/simulations/clock/advance', { to: '2031-02-03T04:05:06Z' }))
  await page.getByText(/2031/).first().waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('day')
  await context.close()
})

test("when a payment's focused Approve button is removed, the focus does not move to another payment's button", async () => {
  const { approvalOf, deny } = payer(site.world)
  const { id } = await approvalOf(await createPaymentInReview(site, 'Decided elsewhere'))
  await createPaymentInReview(site, 'Still waits')
  const { page, context } = await open(money)
  await waitUntilLive(page)
  await take(page, `form[action*="${id}"] button[value="approve"]`)
  await expect.poll(() => isFocused(page)).toBe(true)
  ok(await deny(id, undefined, { key: site.world.apiKey }))
  const waiting = page.getByRole('region', { name: 'Pending decisions' })
  await waiting.getByText('Decided elsewhere').waitFor({ state: 'detached' })
  await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('body')
  await waiting.getByText('Still waits').waitFor()
  await context.close()
})

test("when a snapshot's focused Delete button is removed, the focus does not move to another snapshot's button", async () => {
  await save('second')
  const { page, context } = await open(sandbox)
  await waitUntilLive(page)
  const deleteForms = '[data-source*="snapshots"] form[action$="/delete"]'
  await take(page, `${deleteForms} button`)
  const [deletedName, ...others] = await page.locator(`${deleteForms} input[name="name"]`).evaluateAll(valuesOf)
  ok(await site.world.send('DELETE', `/simulations/snapshots/${deletedName}`))
  await expect.poll(() => page.locator(`${deleteForms} input[name="name"]`).evaluateAll(valuesOf)).toEqual(others)
  expect(others.length).toBeGreaterThan(0)
  await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('body')
  await context.close()
})

/** Returns the values of the given inputs. Playwright runs this function in the browser. */
const valuesOf = new Function('all', 'return all.map((it) => it.value)') as (all: unknown) => string[]

test('open details, selected text and the scroll position survive a redraw', async () => {
  await save('opened')
  const { page, context } = await open(sandbox)
  // This style limits the table to a width at which it scrolls. A narrower table would stack its cells, and a wider one
  // would fit without scrolling.
  await page.evaluate(`{
    const sheet = new CSSStyleSheet()
    sheet.replaceSync('.wide { max-width: 20rem }')
    document.adoptedStyleSheets = [sheet]
  }`)
  await waitUntilLive(page)
  await page.locator('#restore-opened summary').click()
  await take(page, '[data-source*="faults"] .wide', 'it.scrollLeft = 40')
  await page.evaluate('getSelection().selectAllChildren(document.querySelector("li:has(#restore-opened) strong"))')
  await expect.poll(() => page.evaluate('[window.taken.scrollLeft, getSelection().toString()]')).toEqual([40, 'opened'])
  await setFault('third')
  await save('third')
  await page.getByRole('rowheader', { name: 'third' }).waitFor()
  await page.getByText('third', { exact: true }).last().waitFor()
  await page.getByRole('button', { name: 'Restore opened' }).waitFor()
  await expect.poll(() => page.evaluate('window.taken.isConnected')).toBe(true)
  await expect.poll(() => page.evaluate('[window.taken.scrollLeft, getSelection().toString()]')).toEqual([40, 'opened'])
  await context.close()
})

test('visible content keeps its position when a redraw adds content above it', async () => {
  const { page, context } = await open(money)
  await page.setViewportSize({ width: 1200, height: 400 })
  await waitUntilLive(page)
  await page.locator('#subscriptions').scrollIntoViewIfNeeded()
  await take(page, '#subscriptions', '')
  const topOfTaken = () => page.evaluate('window.taken.getBoundingClientRect().top') as Promise<number>
  const before = await topOfTaken()
  await purchaseOf(4444)
  await row(page, /\$44\.44/).waitFor()
  await expect.poll(() => page.evaluate('window.taken.isConnected')).toBe(true)
  await expect.poll(async () => Math.abs((await topOfTaken()) - before)).toBeLessThan(3)
  await context.close()
})

/**
 * A script that redraws a form with the value `sent` in its hidden field. Returns whether the form kept its button
 * element.
 */
const keepsButton = `async (sent) => {
  const { redraw } = await import('/scripts/redraw.js')
  const append = (into, value) => {
    const [form, input, button] = ['form', 'input', 'button'].map((name) => document.createElement(name))
    for (const [name, text] of Object.entries({ type: 'hidden', name: 'name', value })) input.setAttribute(name, text)
    form.append(input, button)
    into.append(form)
    return into
  }
  const part = append(document.createElement('div'), 'one')
  const button = part.querySelector('button')
  redraw(part, append(document.createDocumentFragment(), sent))
  return part.contains(button)
}`

test.each([
  ['is reused if the hidden field is unchanged', 'one', true],
  ['is replaced if the hidden field changes', 'two', false],
])('a button in a redrawn form %s', async (_, sent, isReused) => {
  const { page, context } = await open(money)
  await expect.poll(() => page.evaluate(`(${keepsButton})(${JSON.stringify(sent)})`)).toBe(isReused)
  await context.close()
})

interface Drawn {
  tag: string
  id: string
  href: string
  text: string
  children: readonly Drawn[]
}

const { drawn } = fc.letrec<{ drawn: Drawn }>((tie) => ({
  drawn: fc.record({
    tag: fc.constantFrom('a', 'p', 'form', 'ul'),
    id: fc.constantFrom('', '', 'one', 'two', 'three'),
    href: fc.constantFrom('', '/one', '/two'),
    text: fc.constantFrom('', 'words', 'others'),
    children: fc.oneof({ maxDepth: 3 }, fc.constant([]), fc.array(tie('drawn'), { maxLength: 4 })),
  }),
}))

/**
 * A script that redraws the first element of each pair to match the second. Returns the pairs for which the result
 * differs from the second element.
 */
const redrawPairs = `async (pairs) => {
  const { redraw } = await import('/scripts/redraw.js')
  const append = (into, { tag, id, href, text, children }) => {
    const it = document.createElement(tag)
    if (id) it.id = id
    if (href) it.setAttribute('href', href)
    it.append(text)
    for (const one of children) append(it, one)
    into.append(it)
    return into
  }
  return pairs.filter(([before, after]) => {
    const part = append(document.createElement('div'), before)
    redraw(part, append(document.createDocumentFragment(), after))
    part.normalize()
    const wanted = append(document.createElement('div'), after)
    wanted.normalize()
    return !part.isEqualNode(wanted)
  })
}`

test('after a redraw, a part always equals the version that the service sent', async () => {
  const { page, context } = await open(money)
  const pairs = fc.sample(fc.tuple(drawn, drawn), 500)
  await expect.poll(() => page.evaluate(`(${redrawPairs})(${JSON.stringify(pairs)})`)).toEqual([])
  await context.close()
})
