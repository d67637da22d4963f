import type { BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testCards } from '../../src/service/rules/test-cards.ts'
import { postgres } from '../support/databases.ts'
import { keepEach } from '../support/keep-each.ts'
import { openTab, type Site, startBrowser, startSite, type Tab, type TestBrowser } from './browser.ts'

const approved = '4242 4242 4242 4242'
const declined = '4000 0000 0000 0002'
const day = 86_400_000

let site: Site
let browser: TestBrowser
let context: BrowserContext
const tabs: Tab[] = []

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  context = await browser.newContext()
})
afterAll(async () => {
  await browser.close()
  await site.close()
})
afterEach(async () => {
  const complaints = tabs.flatMap((tab) => tab.complaints)
  for (const { page } of tabs.splice(0)) await page.close()
  expect(complaints).toEqual([])
})

async function open(url: string): Promise<Tab> {
  const tab = await openTab(context, url)
  tabs.push(tab)
  return tab
}

async function enterCard({ form }: Tab, number: string, { expiry = '1234', cvv = '123' } = {}): Promise<void> {
  await form.getByLabel('Card number').fill(number)
  await form.getByLabel('Expires').fill('')
  await form.getByLabel('Expires').pressSequentially(expiry)
  await form.getByLabel('Security code').fill(cvv)
}

const payButton = ({ form }: Tab) => form.getByRole('button', { name: /Agree and pay|Paying/ })

async function pay(tab: Tab, number: string, rest?: { expiry?: string; cvv?: string }): Promise<void> {
  await enterCard(tab, number, rest)
  await payButton(tab).click()
}

const heading = ({ page }: Tab, name: string) => page.getByRole('heading', { name })

/** Clicks the button to pay, unless a heading with this name appears first. Works in a background tab too. */
const payUnlessShown = (tab: Tab, name: string) =>
  Promise.race([payButton(tab).dispatchEvent('click'), heading(tab, name).waitFor()])

const payRequests = ({ sent }: Tab) => sent.filter(({ url }) => url.endsWith('/checkout/pay'))

describe('paying at a checkout', () => {
  test('a payer sees the terms, pays and is thanked; the client secret and the card number do not leak', async () => {
    const { id, url, clientSecret } = await site.subscribe()
    const before = await site.balance()
    const tab = await open(url)
    await expect.poll(() => tab.page.title()).toBe('Pay Sandbox Organization')
    const mainText = await tab.page.getByRole('main').textContent()
    for (const words of [
      'Sandbox Organization',
      'Gym membership',
      '$20.00 every month until you cancel',
      '$1.50 tax',
    ]) {
      expect(mainText).toContain(words)
    }
    await tab.form.getByText('By paying, you agree that').waitFor()
    // The form hides its own copy of the terms, because the page around the form also shows the terms.
    await expect.poll(() => tab.form.getByRole('region', { name: 'What you pay' }).isVisible()).toBe(false)
    await pay(tab, approved)
    await heading(tab, 'Paid. Thank you.').waitFor()
    await tab.page.getByText('The next payment of $20.00 is on February 15, 2026.').waitFor()
    await expect.poll(() => tab.page.title()).toBe('Paid. Thank you. – Sandbox Organization')
    expect(await site.read(id)).toMatchObject({
      status: 'active',
      mandateId: expect.stringMatching(/^mdt_/),
      checkoutUrl: null,
      nextPayment: { paymentNumber: 2, dueDate: '2026-02-15' },
    })
    expect(await site.balance()).toBe(before + 2000)

    for (const { method, url: address, body, headers } of tab.sent) {
      expect(address.startsWith(site.listener.url)).toBe(true)
      expect(`${address} ${JSON.stringify(headers)}`).not.toMatch(/_secret_|4242|cookie/)
      if (!address.endsWith('/checkout/pay')) expect(body).not.toContain('4242')
      if (method === 'GET') expect(body).toBe('')
    }
    expect(payRequests(tab)).toHaveLength(1)
    expect(site.world.logged.join('\n')).not.toMatch(new RegExp(`4242 ?4242|${clientSecret}`))

    await tab.page.reload()
    await heading(tab, 'Paid. Thank you.').waitFor()
    await expect.poll(() => tab.page.locator('iframe').count()).toBe(0)
  })

  test('after a declined card, the payer can pay with another card', async () => {
    const { id, url } = await site.subscribe()
    const before = await site.balance()
    const tab = await open(url)
    await pay(tab, declined)
    await tab.form.getByRole('alert').getByText('The card was declined.').waitFor()
    expect((await site.read(id)).status).toBe('pending')
    await pay(tab, approved)
    await heading(tab, 'Paid. Thank you.').waitFor()
    expect(await site.balance()).toBe(before + 2000)
  })

  test('each invalid value is explained next to its field', async () => {
    const tab = await open((await site.subscribe()).url)
    const wrong: [{ number?: string; expiry?: string; cvv?: string }, string, string][] = [
      [{ number: '' }, 'Card number', 'Enter the card number: 12 to 19 digits.'],
      [{ number: '4242 4242 4242 4241' }, 'Card number', 'This is not a card number: check its digits.'],
      [{ number: '5555 5555 5555 4444' }, 'Card number', 'The sandbox accepts only its test cards'],
      [{ expiry: '13/30' }, 'Expires', 'Enter the expiration as month and year: MM/YY.'],
      [{ expiry: '12/25' }, 'Expires', 'The card has expired'],
      [{ cvv: '12' }, 'Security code', 'Enter the security code: 3 or 4 digits.'],
    ]
    for (const [entry, label, message] of wrong) {
      const { number = approved, ...rest } = entry
      await pay(tab, number, rest)
      const field = tab.form.getByLabel(label)
      await tab.form.getByText(message).waitFor()
      await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
      const describedBy = await field.getAttribute('aria-describedby')
      await expect.poll(() => tab.form.locator(`#${describedBy}`).textContent()).toContain(message)
      await expect.poll(() => tab.form.locator(':focus').getAttribute('id')).toBe(await field.getAttribute('id'))
      await expect.poll(() => tab.form.locator('[aria-invalid]').count()).toBe(1)
    }
    await tab.form.getByLabel('Security code').pressSequentially('3')
    await expect.poll(() => tab.form.locator('[aria-invalid]').count()).toBe(0)
    await payButton(tab).click()
    await heading(tab, 'Paid. Thank you.').waitFor()
  })

  test('the payer need not type the slash of the expiration date', async () => {
    const tab = await open((await site.subscribe()).url)
    const formatted = {
      '0734': '07/34',
      '734': '07/34',
      '7/34': '07/34',
      '1/34': '01/34',
      '12/2034': '12/2034',
      '12 / 34': '12/34',
    }
    for (const [typed, expiry] of Object.entries(formatted)) {
      await tab.form.getByLabel('Expires').fill('')
      await tab.form.getByLabel('Expires').pressSequentially(typed)
      await expect.poll(() => tab.form.getByLabel('Expires').inputValue()).toBe(expiry)
    }
  })

  test('a payer who clicks twice pays once', async () => {
    const { url } = await site.subscribe()
    const before = await site.balance()
    const tab = await open(url)
    await enterCard(tab, approved)
    await payButton(tab).dblclick()
    await heading(tab, 'Paid. Thank you.').waitFor()
    expect(payRequests(tab)).toHaveLength(1)
    expect(await site.balance()).toBe(before + 2000)
  })

  test('a double click does not retry a card that is declined only the first time', async () => {
    const { id, url } = await site.subscribe()
    const tab = await open(url)
    await enterCard(tab, '4000 0000 0000 0341')
    await payButton(tab).dblclick({ delay: 50 })
    await tab.form.getByText('was declined').waitFor()
    expect(payRequests(tab)).toHaveLength(1)
    expect((await site.read(id)).status).toBe('pending')
  })

  test('a payer who pays in two tabs is charged once; a third open tab also shows the payment', async () => {
    const { url } = await site.subscribe()
    const before = await site.balance()
    const [first, second, third] = [await open(url), await open(url), await open(url)]
    await enterCard(first, approved)
    await enterCard(second, approved)
    await Promise.all([payUnlessShown(first, 'Paid. Thank you.'), payUnlessShown(second, 'Paid. Thank you.')])
    for (const tab of [first, second, third]) await heading(tab, 'Paid. Thank you.').waitFor()
    expect(payRequests(third)).toHaveLength(0)
    expect(await site.balance()).toBe(before + 2000)
  })

  test('the payer can stop future payments, after a confirmation', async () => {
    const { id, url } = await site.subscribe()
    const tab = await open(url)
    await pay(tab, approved)
    const stop = tab.page.getByRole('button', { name: 'Stop future payments' })
    await stop.click()
    await tab.page.getByRole('button', { name: 'Keep them' }).click()
    expect((await site.read(id)).status).toBe('active')
    await stop.click()
    await tab.page.getByRole('dialog', { name: 'Stop all future payments?' }).waitFor()
    await tab.page.getByRole('button', { name: 'Stop them' }).click()
    await tab.page.getByText('Future payments are stopped.').waitFor()
    await expect.poll(() => stop.isVisible()).toBe(false)
    expect((await site.read(id)).status).toBe('canceled')
    await tab.page.reload()
    await heading(tab, 'This subscription has ended').waitFor()
  })

  test('the payer learns that the merchant has canceled the subscription in the meantime', async () => {
    const { id, url } = await site.subscribe()
    const [waiting, paying] = [await open(url), await open(url)]
    await enterCard(paying, approved)
    await site.world.post(`/subscriptions/${id}/cancel`, {})
    await payUnlessShown(paying, 'This subscription has ended')
    for (const tab of [paying, waiting]) await heading(tab, 'This subscription has ended').waitFor()
    expect(payRequests(waiting)).toHaveLength(0)
    await expect.poll(() => waiting.page.locator('iframe').count()).toBe(0)
  })

  test('the payer learns that the time to pay has run out', async () => {
    const { url } = await site.subscribe()
    const tab = await open(url)
    await tab.form.getByLabel('Card number').waitFor()
    site.world.system.pass(day)
    await heading(tab, 'This subscription has ended').waitFor()
    await tab.page.getByText('the first payment was not made in time').waitFor()
  })

  test('the payer can try again after the service was unreachable', async () => {
    const tab = await open((await site.subscribe()).url)
    await enterCard(tab, approved)
    await context.setOffline(true)
    await payButton(tab).click()
    await tab.form.getByRole('alert').getByText('can’t be reached').waitFor()
    await context.setOffline(false)
    await payButton(tab).click()
    await heading(tab, 'Paid. Thank you.').waitFor()
    expect(tab.complaints.splice(0).every((text) => text.includes('ERR_INTERNET_DISCONNECTED'))).toBe(true)
  })

  test('the page at a wrong checkout address says “Not found”', async () => {
    const tab = await open(`${site.listener.url}/checkout/sub_${'0'.repeat(32)}`)
    await heading(tab, 'Not found').waitFor()
  })

  test('a script in the merchant’s description does not run', async () => {
    const description = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`
    const tab = await open((await site.subscribe({ description })).url)
    await tab.form.getByLabel('Card number').waitFor()
    await tab.page.getByText(description).waitFor()
    await expect.poll(() => tab.page.title()).toBe('Pay Sandbox Organization')
    await expect.poll(() => tab.page.locator('img').count()).toBe(0)
  })

  keepEach(3)
})

describe('the test cards', () => {
  const results = {
    approves: 'paid',
    declines_once: 'declined',
    declines: 'declined',
    blocked: 'declined',
    needs_update: 'declined',
    removed: 'declined',
    processor_error: 'declined',
    agreement_fails: 'ended',
  } as const satisfies Record<(typeof testCards)[keyof typeof testCards], string>
  const texts = {
    paid: 'Paid. Thank you.',
    declined: 'The card was declined.',
    ended: 'The bank did not accept the agreement to future payments.',
  }
  const statuses = { paid: 'active', declined: 'pending', ended: 'canceled' }

  const entries = Object.entries(testCards)
  const halves = [entries.slice(0, 4), entries.slice(4)].map((cards) => ({
    cards,
    names: cards.map(([, card]) => card).join(', '),
  }))
  // Tests the cards of each half in parallel, because each page waits most of the time.
  test.each(halves)('a click fills in a test card, and paying ends as expected: $names', async ({ cards }) => {
    await Promise.all(
      cards.map(async ([number, card]) => {
        const { id, url } = await site.subscribe()
        const tab = await open(url)
        // Dispatches click events, because a real click waits for a redraw, and background tabs are rarely redrawn.
        await tab.form.locator(`[data-number="${number}"]`).dispatchEvent('click')
        await payButton(tab).dispatchEvent('click')
        const result = results[card]
        const message = result === 'declined' ? tab.form.getByRole('alert') : tab.page.getByRole('status')
        await message.getByText(texts[result]).waitFor()
        expect((await site.read(id)).status).toBe(statuses[result])
      }),
    )
  })

  keepEach(3)
})

test('a payment on the checkout page works on PostgreSQL too', async () => {
  const other = await startSite(postgres)
  const { id, url } = await other.subscribe({ amount: undefined, totalAmount: 10_001, taxAmount: 0, paymentCount: 3 })
  const before = await other.balance()
  const tab = await open(url)
  await pay(tab, approved)
  await heading(tab, 'Paid. Thank you.').waitFor()
  expect((await other.read(id)).status).toBe('active')
  expect(await other.balance()).toBe(before + 3334)
  await other.close()
})
