import type { Frame } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTab, type Site, shoot, startBrowser, startSite, type Tab, type TestBrowser } from './browser.ts'
import { expectContrast } from './contrast.ts'

let site: Site
let browser: TestBrowser

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

type Scheme = 'light' | 'dark'

async function open({
  scheme = 'light',
  width = 1000,
  attributes = {},
}: {
  scheme?: Scheme
  width?: number
  attributes?: object
}) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 800 } })
  const { id, url } = await site.subscribe(attributes)
  const tab = await openTab(context, url)
  await tab.form.getByRole('button', { name: /Agree and pay/ }).waitFor()
  return { ...tab, id, close: () => context.close() }
}

async function fill({ form }: Tab, number: string): Promise<void> {
  await form.getByLabel('Card number').fill(number)
  await form.getByLabel('Expires').fill('12/34')
  await form.getByLabel('Security code').fill('123')
}

describe.each<Scheme>(['light', 'dark'])('the checkout in %s mode', (scheme) => {
  test('the checkout has enough contrast before payment, after errors, and once paid', async () => {
    const tab = await open({
      scheme,
      attributes: { amount: undefined, totalAmount: 10_001, taxAmount: 700, paymentCount: 3 },
    })
    const submit = () => tab.form.getByRole('button', { name: /Agree and pay/ }).click()
    await shoot(tab.page, `open-${scheme}`)
    await fill(tab, '4000 0000 0000 0002')
    await tab.form.getByText('Test cards').click()
    await submit()
    await tab.form.getByText('was declined').waitFor()
    await expectContrast(tab.page)
    await shoot(tab.page, `declined-${scheme}`)
    await fill(tab, '4242 4242 4242 4241')
    await submit()
    await tab.form.getByText('check its digits').waitFor()
    await expectContrast(tab.page)
    await shoot(tab.page, `invalid-${scheme}`)
    await fill(tab, '4242 4242 4242 4242')
    await submit()
    await tab.page.getByText('The next payment').waitFor()
    await expectContrast(tab.page)
    await shoot(tab.page, `paid-${scheme}`)
    await tab.page.getByRole('button', { name: 'Stop future payments' }).click()
    await expectContrast(tab.page)
    await shoot(tab.page, `stop-${scheme}`)
    await tab.close()
  })
})

/** Returns the number of pixels by which the frame's page can be scrolled sideways. */
const overflow = (frame: Frame) => frame.evaluate('document.documentElement.scrollWidth - innerWidth')

test('the checkout does not scroll sideways on a phone, even with a long description from the merchant', async () => {
  const descriptions = ['W'.repeat(200), 'اشتراك شهري في النادي الرياضي ‎'.repeat(6).slice(0, 200)]
  for (const [index, description] of descriptions.entries()) {
    const tab = await open({ width: 320, attributes: { description } })
    await tab.form.getByText('Test cards').click()
    for (const frame of tab.page.frames()) await expect.poll(() => overflow(frame)).toBeLessThanOrEqual(0)
    await shoot(tab.page, `phone-${index}`)
    await fill(tab, '4242 4242 4242 4242')
    await tab.form.getByRole('button', { name: /Agree and pay/ }).click()
    await tab.page.getByText('The next payment').waitFor()
    await tab.page.getByRole('button', { name: 'Stop future payments' }).click()
    for (const frame of tab.page.frames()) await expect.poll(() => overflow(frame)).toBeLessThanOrEqual(0)
    await shoot(tab.page, `phone-paid-${index}`)
    await tab.close()
  }
})

test('a payer can pay and stop future payments by keyboard alone, and always sees the focus', async () => {
  const tab = await open({})
  const { keyboard } = tab.page
  /** Presses Tab once, and expects that the element with this name then has the focus and a visible outline. */
  const tabTo = async (name: string) => {
    await keyboard.press('Tab')
    const focused = async () => {
      const inForm = (await tab.page.evaluate('document.activeElement.tagName')) === 'IFRAME'
      return (inForm ? tab.form : tab.page).locator(':focus').evaluateAll(labelsAndOutlines)
    }
    await expect.poll(focused).toEqual([[name, 'solid']])
  }
  await tabTo('Payments')
  await tabTo('Card number')
  await keyboard.type('4242424242424242')
  await tabTo('Expires')
  await keyboard.type('1234')
  await tabTo('Security code')
  await keyboard.type('123')
  await tabTo('Agree and pay $20.00')
  await keyboard.press('Enter')
  await tab.page.getByRole('heading', { name: 'Paid. Thank you.' }).waitFor()
  await tabTo('Stop future payments')
  await keyboard.press('Enter')
  await expect.poll(() => tab.page.locator(':focus').textContent()).toBe('Keep them')
  await keyboard.press('Escape')
  await expect.poll(() => tab.page.getByRole('dialog').isVisible()).toBe(false)
  await keyboard.press('Enter')
  await tabTo('Stop them')
  await keyboard.press('Enter')
  await tab.page.getByText('Future payments are stopped.').waitFor()
  expect((await site.read(tab.id)).status).toBe('canceled')
  await tab.close()
})

/** Returns the label and the outline style of each element. Playwright runs this function in the browser. */
const labelsAndOutlines = new Function(
  'elements',
  'return elements.map((it) => [(it.labels?.[0] ?? it).textContent, getComputedStyle(it).outlineStyle])',
) as (elements: unknown[]) => [string, string][]

test('the checkout has the names, landmarks and field attributes that screen readers and autofill need', async () => {
  const tab = await open({})
  await expect.poll(() => tab.page.locator('html').getAttribute('lang')).toBe('en')
  await expect
    .poll(() => tab.page.getByRole('banner').textContent())
    .toMatch(/^\s*Sandbox: no real money\s*Payments\s*$/)
  await expect
    .poll(() => tab.page.getByRole('heading', { level: 1 }).textContent())
    .toBe('Payment to Sandbox Organization')
  await expect.poll(() => tab.page.locator('iframe').getAttribute('title')).toBe('Card payment')
  const purposes = { 'Card number': 'cc-number', Expires: 'cc-exp', 'Security code': 'cc-csc' }
  for (const [label, autocomplete] of Object.entries(purposes)) {
    const field = tab.form.getByLabel(label)
    await expect.poll(() => field.getAttribute('autocomplete')).toBe(autocomplete)
    await expect.poll(() => field.getAttribute('inputmode')).toBe('numeric')
  }
  for (const part of [tab.page, tab.form]) {
    await expect.poll(() => part.getByRole('main').count()).toBe(1)
    await expect.poll(() => part.getByRole('status').count()).toBe(1)
    await expect.poll(() => part.locator('[role=alert]').count()).toBe(1)
  }
  await tab.close()
})
