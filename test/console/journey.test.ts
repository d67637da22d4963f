import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTab, type Site, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { entriesOf } from '../runs/stored-entries.ts'
import { isDeep } from '../support/depth.ts'

let site: Site
let browser: TestBrowser
const instanceId = 'cursor-7'

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  const cardId = await site.world.issueCard({ merchant: { name: 'W'.repeat(100) } }, { instanceId })
  await site.world.authorize(cardId, 400, { instanceId })
  const userAgent = `payments-mcp/1.0.0 (${'H'.repeat(80)}/1)`
  await site.world.get('/wallets', { instanceId: 'L'.repeat(1000), headers: { 'User-Agent': userAgent } })
  expect((await site.world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })).status).toBe(422)
  await entriesOf(site.world)
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

async function open(path: string, width = 1280) {
  const context = await browser.newContext({ viewport: { width, height: 800 }, reducedMotion: 'reduce' })
  const tab = await openTab(context, `${site.listener.url}/sign-in?${new URLSearchParams({ next: path })}`)
  await tab.page
    .getByRole('button', { name: /Continue as|Sign in as/ })
    .first()
    .click()
  await tab.page.waitForURL(site.listener.url + path)
  return { ...tab, context }
}

/**
 * Returns the beginning of the text of each table cell that is cut off or reaches beyond the right edge of the window.
 */
const cellsOutOfSight = (page: Page) =>
  page.evaluate(`[...document.querySelectorAll('main :is(td, th)')]
    .filter((cell) => cell.getBoundingClientRect().right > innerWidth || cell.scrollWidth > cell.clientWidth + 1)
    .map((cell) => cell.textContent.slice(0, 40))`)

test.runIf(isDeep).each(['/console', '/console/money'])(
  'the table cells of %s are fully visible, even with very long names',
  async (path) => {
    const { page, context } = await open(path)
    await page.getByRole('columnheader').first().waitFor()
    expect(await page.locator('table:not(:has(caption))').count()).toBe(0)
    expect(await cellsOutOfSight(page)).toEqual([])
    await context.close()
  },
)

test('a link keeps the focus when its part of the page is redrawn', async () => {
  const { page, context } = await open('/console/money')
  await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
  await page.locator('main a').filter({ hasText: 'the card for W' }).first().focus({ timeout: 5000 })
  await site.world.issueCard({ merchant: { name: 'Another Store' } }, { instanceId })
  await page.getByText('Another Store').first().waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.closest("a")?.textContent')).toMatch(/the card for W/)
  await context.close()
})

test('the console never shows a card number, even after an agent has read it', async () => {
  const cardId = await site.world.issueCard({}, { instanceId })
  const shown = await site.world.get(`/agent-cards/${cardId}/details`, { instanceId })
  expect(JSON.stringify(shown)).toContain('4242424242424242')
  const entry = (await entriesOf(site.world, instanceId)).find(
    ({ operation }) => operation === 'get_agent_card_details',
  )
  const run = `/console/runs/${entry?.runId}`
  const { page, context } = await open('/console')
  for (const path of [`${run}/entries/${entry?.id}`, run, `${run}/report`, '/console/money', '/console/sandbox']) {
    expect((await page.goto(site.listener.url + path))?.status()).toBe(200)
    expect((await page.content()).replace(/[ -]/g, '')).not.toContain('4242424242424242')
  }
  await context.close()
})
