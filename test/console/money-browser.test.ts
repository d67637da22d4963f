import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { listen } from '../../src/service/listen.ts'
import { openTab, type Site, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { ok, payer } from '../payments/payer.ts'
import { addParty } from '../support/world.ts'

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

interface Looks {
  at?: Site
}

/** A browser that signed in by one click, at a page of the console. */
async function open(path: string, { at = site }: Looks = {}) {
  const viewport = { width: 1280, height: 800 }
  const context = await browser.newContext({ viewport })
  const { url } = at.listener
  const tab = await openTab(context, `${url}/sign-in?${new URLSearchParams({ next: path })}`)
  await tab.page
    .getByRole('button', { name: /Continue as|Sign in as/ })
    .first()
    .click()
  await tab.page.waitForURL(url + path)
  return { ...tab, context }
}

const isLive = (page: Page) => page.getByRole('status').getByText('Live', { exact: true }).waitFor()
const purchaseOf = async (maximumAmount: number) =>
  ok(await site.world.authorize(await site.world.issueCard({ maximumAmount }), maximumAmount)).json.data.id as string
const capture = (id: string, amount: number) =>
  site.world.post(`/simulations/card-transactions/${id}/capture`, { amount, currency: 'USD' })
const savings = async () =>
  ok(await site.world.post('/wallets', { displayName: 'Savings' }, { key: site.world.apiKey })).json.data.id as string

/** A payment that waits for a person. */
async function inReview(description: string): Promise<string> {
  const { setLimits, pay } = payer(site.world)
  const agentId = String((await site.world.whoami()).agentId)
  await setLimits('agents', agentId, { perTransaction: 100 })
  const { id } = ok(await pay(5000, { type: 'email', value: 'payee@example.com' }, { description })).json.data
  await setLimits('agents', agentId, null)
  return id
}

test('what is held, captured and moved elsewhere shows without a reload, on both pages', async () => {
  const { page, context, complaints } = await open('/console/money')
  const wallet = await context.newPage()
  await wallet.goto(site.listener.url + walletPath)
  for (const one of [page, wallet]) await isLive(one)
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

test('by the keyboard alone one opens a wallet and its figures, which stay open when something moves', async () => {
  const { page, context, complaints } = await open('/console/money')
  await isLive(page)
  await page.getByRole('link', { name: 'Main wallet' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Main wallet' }).waitFor()
  await isLive(page)
  const summary = page.locator('summary').filter({ hasText: 'As a table' })
  await summary.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('table', { name: 'Balances over time' }).waitFor()
  await purchaseOf(777)
  await page.getByRole('row', { name: /-\$7\.77/ }).waitFor()
  await page.getByRole('table', { name: 'Balances over time' }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('As a table')
  expect(complaints).toEqual([])
  await context.close()
})

test("another user's wallet is not there, and no number of a card is on any page", async () => {
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

test('what begins to wait, and what was decided elsewhere, shows without a reload', async () => {
  const { approvalOf, deny } = payer(site.world)
  const { page, context, complaints } = await open('/console/money')
  await isLive(page)
  const id = await inReview('Decided elsewhere')
  const waiting = page.getByRole('region', { name: 'Waits for you' })
  await waiting.getByText('Decided elsewhere').waitFor()
  ok(await deny((await approvalOf(id)).id, undefined, { key: site.world.apiKey }))
  await waiting.waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})

test('a page says that the service is gone, and catches up when it is there again', async () => {
  const other = await startSite()
  const port = Number(new URL(other.listener.url).port)
  const { page, context } = await open('/console/money', { at: other })
  await isLive(page)
  await other.listener.close()
  await page.getByText('Connection lost').waitFor()
  await other.world.issueCard({ merchant: { name: 'Meanwhile' } })
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const again = await listen({
    ...{ fetch: other.world.service.fetch, host: '127.0.0.1', port, system: realSystem, log },
  })
  await isLive(page)
  await page.getByText('Meanwhile').first().waitFor()
  await context.close()
  await again.close()
  await other.world.drop()
})
