import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hostBlock } from '../../src/core/host-setups.ts'
import { openTab, type Site, shoot, startBrowser, startSite, type TestBrowser } from './browser.ts'
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

/** The MCP address on the page. It has the configured port, not the port on which this test's service listens. */
const mcpUrl = 'http://127.0.0.1:4010/mcp'

const expectToFit = (page: Page) =>
  expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

test('without JavaScript, a person chooses the host by a link, on a phone too', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 700 } })
  const { page, complaints } = await openTab(context, `${site.listener.url}/`)
  await page.getByRole('link', { name: 'Cursor' }).click()
  await expect.poll(() => page.locator('pre').first().textContent()).toBe(hostBlock('cursor', { url: mcpUrl }))
  const chosen = page.getByRole('link', { name: 'Cursor', exact: true })
  await expect.poll(() => chosen.getAttribute('aria-current')).toBe('true')
  await expect.poll(() => page.getByRole('button').count()).toBe(0)
  await context.close()
  expect(complaints).toEqual([])
})

test('a button copies the configuration of a host, and the page confirms it', async () => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const { page, complaints } = await openTab(context, `${site.listener.url}/?host=codex`)
  await page.getByRole('button', { name: 'Copy the configuration of Codex' }).press('Enter')
  await page.getByRole('status').getByText('Copied.').waitFor()
  const clipboard = () => page.evaluate('navigator.clipboard.readText()')
  await expect.poll(clipboard).toBe(hostBlock('codex', { url: mcpUrl }))
  expect(complaints).toEqual([])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectContrast(page)
    await shoot(page, `home-${colorScheme}`)
  }
  await page.setViewportSize({ width: 320, height: 700 })
  await expectToFit(page)
  await context.close()
})

test('the API reference works under the strict Content-Security-Policy, without requests to other sites', async () => {
  const context = await browser.newContext({ viewport: { width: 360, height: 800 } })
  const { page, sent, complaints } = await openTab(context, `${site.listener.url}/docs`)
  await page.getByRole('link', { name: 'Issue a card' }).click()
  await page.getByText('Issues a card for one purchase').first().waitFor()
  await expectToFit(page)
  await shoot(page, 'docs')
  expect(complaints).toEqual([])
  expect(
    sent.map(({ url }) => url).filter((url) => !url.startsWith(site.listener.url) && !url.startsWith('data:')),
  ).toEqual([])
  await context.close()
})
