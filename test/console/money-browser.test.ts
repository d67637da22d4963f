import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Site, shoot, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { ok, payer } from '../payments/payer.ts'
import { addParty } from '../support/world.ts'
import { createPaymentInReview, type Looks, openConsole, restart, waitUntilLive } from './open-console.ts'

let site: Site
let browser: TestBrowser
let walletPath: string

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  walletPath = `/console/money/wallets/${ok(await site.world.get('/wallets')).json.data[0].id}`
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

/** Opens a page of the console in a browser in which the owner is signed in. */
const open = (path: string, { at = site, ...looks }: Looks & { at?: Site } = {}) =>
  openConsole({ browser, site: at }, path, looks)

const purchaseOf = async (maximumAmount: number) =>
  ok(await site.world.authorize(await site.world.issueCard({ maximumAmount }), maximumAmount)).json.data.id as string
const capture = (id: string, amount: number) =>
  site.world.post(`/simulations/card-transactions/${id}/capture`, { amount, currency: 'USD' })
const savings = async () =>
  ok(await site.world.post('/wallets', { displayName: 'Savings' }, { key: site.world.apiKey })).json.data.id as string

test('holds, captures and transfers appear on the money page and on a wallet page without a reload', async () => {
  const { page, context, complaints } = await open('/console/money')
  const wallet = await context.newPage()
  await wallet.goto(site.listener.url + walletPath)
  for (const one of [page, wallet]) await waitUntilLive(one)
  const id = await purchaseOf(4321)
  await page
    .getByRole('row', { name: /\$43\.21/ })
    .getByText('authorized')
    .waitFor()
  await wallet
    .getByRole('row', { name: new RegExp(`Hold placed.*${id}`) })
    .first()
    .waitFor()
  ok(await capture(id, 4321))
  await page
    .getByRole('row', { name: /\$43\.21/ })
    .getByText('captured', { exact: true })
    .waitFor()
  await wallet
    .getByRole('row', { name: new RegExp(`Captured.*${id}`) })
    .first()
    .waitFor()
  const move = { amount: 1212, sourceWalletId: walletPath.split('/').at(-1), destWalletId: await savings() }
  ok(await site.world.post('/transfers/internal', move, { key: site.world.apiKey }))
  await page
    .getByRole('table', { name: /Transfers/ })
    .getByRole('row', { name: /\$12\.12/ })
    .waitFor()
  await wallet.getByRole('row', { name: /-\$12\.12/ }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the keyboard alone opens a wallet and its table of balances, which stays open when money moves', async () => {
  const { page, context, complaints } = await open('/console/money')
  await waitUntilLive(page)
  await page.getByRole('link', { name: 'Main wallet' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Main wallet' }).waitFor()
  await waitUntilLive(page)
  const summary = page.locator('summary').filter({ hasText: 'Show as a table' })
  await summary.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('table', { name: 'Balances over time' }).waitFor()
  await purchaseOf(777)
  await page.getByRole('row', { name: /-\$7\.77/ }).waitFor()
  await page.getByRole('table', { name: 'Balances over time' }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Show as a table')
  await page
    .getByRole('link', { name: /^View run/i })
    .first()
    .focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/console\/runs\//)
  expect(complaints).toEqual([])
  await context.close()
})

test('a screen reader finds the wallets, charts, cards and tables of the money pages by role and name', async () => {
  await purchaseOf(300)
  const { page, context } = await open('/console/money')
  const region = (name: string) => page.getByRole('main').getByRole('region', { name, exact: true })
  for (const name of ['Wallets', 'Cards', 'Purchases', 'Payments', 'Payment requests', 'Transfers', 'Subscriptions']) {
    await expect
      .poll(() => region(name).getByRole('heading', { level: 2, name, exact: true }).count(), { message: name })
      .toBe(1)
  }
  await region('Wallets')
    .getByRole('img', { name: /^Main wallet over time: \$[\d,.]+ available and \$[\d,.]+ held now$/ })
    .waitFor()
  const table = page.getByRole('table', { name: 'Purchases, newest first' })
  for (const name of ['Merchant', 'Status', 'Amount', 'Held', 'Captured', 'Refunded', 'When', 'Agent']) {
    await expect.poll(() => table.getByRole('columnheader', { name, exact: true }).count(), { message: name }).toBe(1)
  }
  await expect.poll(() => table.getByRole('rowheader').count()).toBeGreaterThan(0)
  await expect.poll(() => page.getByRole('link', { name: /^View run\s?: the purchase at / }).count()).toBeGreaterThan(0)
  await page.goto(site.listener.url + walletPath)
  await page.getByRole('img', { name: /^Main wallet over time/ }).waitFor()
  await page
    .getByRole('table', { name: /Transactions/ })
    .getByRole('rowheader')
    .first()
    .waitFor()
  await context.close()
})

test("another party's wallet is not found, and no money page contains a card number", async () => {
  const other = await addParty(site.world)
  const card = await site.world.issueCard({ merchant: { name: 'Numbered' } })
  const { number } = ok(await site.world.get(`/agent-cards/${card}/details`)).json.data.attributes
  const { page, context } = await open('/console/money')
  await page.getByRole('listitem').filter({ hasText: 'Numbered' }).getByText('•••• •••• •••• ••••').waitFor()
  for (const path of ['/console/money', walletPath]) {
    await page.goto(site.listener.url + path)
    expect((await page.content()).replace(/\s/g, '')).not.toContain(number)
  }
  const answer = await page.goto(`${site.listener.url}/console/money/wallets/${other.walletId}`)
  expect(answer?.status()).toBe(404)
  await context.close()
})

describe.each([true, false])('pending decisions (JavaScript: %s)', (script) => {
  test('the buttons Approve and Deny approve and deny a pending payment', async () => {
    const { status } = payer(site.world)
    for (const [name, expected] of [
      ['Approve', /PENDING|COMPLETED|PROCESSING/],
      ['Deny', /DENIED|CANCELED|DECLINED|REJECTED/],
    ] as const) {
      const id = await createPaymentInReview(site, `To be decided: ${name}`)
      const { page, context, complaints } = await open('/console/money', { script })
      const item = page
        .getByRole('region', { name: 'Pending decisions' })
        .getByRole('listitem')
        .filter({ hasText: `decided: ${name}` })
      await item.getByRole('button', { name, exact: true }).press('Enter')
      await page.waitForURL(/\/approvals\//)
      await expect.poll(() => status(id)).toMatch(expected)
      await page.goto(`${site.listener.url}/console/money`)
      await expect.poll(() => page.getByRole('region', { name: 'Pending decisions' }).count()).toBe(0)
      expect(complaints).toEqual([])
      await context.close()
    }
  })
})

test('a pending decision appears without a reload, and disappears when it is made elsewhere', async () => {
  const { approvalOf, deny } = payer(site.world)
  const { page, context, complaints } = await open('/console/money')
  await waitUntilLive(page)
  const id = await createPaymentInReview(site, 'Decided elsewhere')
  const waiting = page.getByRole('region', { name: 'Pending decisions' })
  await waiting.getByText('Decided elsewhere').waitFor()
  ok(await deny((await approvalOf(id)).id, undefined, { key: site.world.apiKey }))
  await waiting.waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})

test('the money page says when the connection is lost, and shows missed changes after it reconnects', async () => {
  const other = await startSite()
  const { page, context } = await open('/console/money', { at: other })
  await waitUntilLive(page)
  const end = await restart(other, page, () => other.world.issueCard({ merchant: { name: 'Meanwhile' } }))
  await page.getByText('Meanwhile').first().waitFor()
  await context.close()
  await end()
  await other.world.drop()
})

/**
 * Gives all agents, wallets and merchants the same name, and all payments the same description. Changes the database
 * directly, because the API would refuse some of the tested names.
 */
async function renameEverything(world: Site['world'], name: string): Promise<void> {
  await world.store.transaction(async ({ db }) => {
    await db.updateTable('agents').set({ name }).execute()
    await db.updateTable('wallets').set({ displayName: name }).execute()
    await db.updateTable('agentCards').set({ merchantName: name }).execute()
    await db.updateTable('cardTransactions').set({ merchantName: name }).execute()
    await db.updateTable('payments').set({ description: name }).execute()
  })
}

describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
  test('the money pages have enough contrast and fit on a phone, even with very long names', async () => {
    const other = await startSite()
    const { world } = other
    const card = await world.issueCard({ maximumAmount: 900 })
    ok(await world.authorize(card, 900))
    ok(await world.authorize(card, 900))
    await world.post('/payments', { amount: 100, counterparty: { type: 'email', value: 'payee@example.com' } })
    await world.post('/payment-requests', { amount: 5, payer: { type: 'email', value: 'payer@example.com' } })
    const [wallet] = ok(await world.get('/wallets')).json.data
    for (const [index, name] of ['Plain', `\u202e<b id="evil">${'W'.repeat(10_000)}`].entries()) {
      await renameEverything(world, name)
      for (const [what, path] of Object.entries({
        money: '/console/money',
        wallet: `/console/money/wallets/${wallet.id}`,
      })) {
        const { page, context, complaints } = await open(path, { at: other, colorScheme })
        await page.locator('details').evaluateAll((all) => {
          for (const it of all) it.setAttribute('open', '')
        })
        await expectContrast(page)
        await expect.poll(() => page.evaluate(tallestName), { message: what }).toBeLessThan(60)
        await shoot(page, `console-${what}-${index}-${colorScheme}`)
        await page.setViewportSize({ width: 360, height: 740 })
        await expect.poll(() => page.evaluate(maxOverflow), { message: what }).toBeLessThanOrEqual(0)
        await expect.poll(() => page.evaluate(indents), { message: what }).toEqual([0])
        await shoot(page, `console-${what}-${index}-${colorScheme}-phone`)
        expect(await page.locator('#evil').count()).toBe(0)
        expect(await page.content()).not.toMatch(/\u202e|W{200}/)
        expect(complaints).toEqual([])
        await context.close()
      }
    }
    await other.close()
  })
})

/**
 * A script that returns the largest number of pixels by which the page, or a wide table on it, can be scrolled
 * sideways.
 */
const maxOverflow = `Math.max(...[document.documentElement, ...document.querySelectorAll('.wide-table')].map((it) =>
  it.scrollWidth - it.clientWidth))`

/** A script that returns the height, in pixels, of the tallest name in a table or on a card. */
const tallestName = `Math.max(0, ...[...document.querySelectorAll(':is(th, td, h3 a, .card *) > bdi')].map((it) =>
  it.closest('.aside') ? 0 : it.offsetHeight))`

/**
 * A script that returns the distances, in pixels, from the left edge of a section's heading to the texts in its table
 * cells. Equal distances are returned once.
 */
const indents = `[...new Set([...document.querySelectorAll('section:has(> h2) .stacked tbody :is(th, td)')].map((it) => {
  const heading = it.closest('section').querySelector('h2').getBoundingClientRect()
  return Math.round(it.getBoundingClientRect().left + parseFloat(getComputedStyle(it).paddingLeft) - heading.left)
}))]`
