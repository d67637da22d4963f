import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { listen } from '../../src/service/listen.ts'
import { openTab, type Site, type Tab, type TestBrowser } from '../pages/browser.ts'
import { ok, payer } from '../payments/payer.ts'

export interface Looks {
  script?: boolean
  colorScheme?: 'light' | 'dark'
  width?: number
}

/** Signs the owner in with a one-time link in a new browser context, and opens a page of the console there. */
export async function openConsole(
  { browser, site }: { browser: TestBrowser; site: Site },
  path: string,
  { script = true, colorScheme = 'light', width = 1200 }: Looks = {},
): Promise<Tab & { context: BrowserContext }> {
  const context = await browser.newContext({
    ...{ javaScriptEnabled: script, colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce' },
  })
  const { pathname, search } = new URL(String(await site.world.service.signInLink(path)))
  const tab = await openTab(context, site.listener.url + pathname + search)
  await tab.page.getByRole('button', { name: /Sign in as/ }).click()
  await tab.page.waitForURL(site.listener.url + path)
  return { ...tab, context }
}

export const waitUntilLive = (page: Page) => page.getByRole('status').getByText('Live', { exact: true }).waitFor()

/** Waits until no part of the page overflows horizontally. */
export const waitUntilPageFits = (page: Page) =>
  expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

/**
 * Stops the service while a live page is open, calls `meanwhile`, and starts the service again at the same address.
 * Returns a function that stops the restarted service.
 */
export async function restart(
  { world, listener }: Site,
  page: Page,
  meanwhile: () => Promise<unknown>,
): Promise<() => Promise<void>> {
  await listener.close()
  await page.getByText('Connection lost').waitFor()
  await meanwhile()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const port = Number(new URL(listener.url).port)
  const newListener = await listen({ fetch: world.service.fetch, host: '127.0.0.1', port, system: realSystem, log })
  await waitUntilLive(page)
  return () => newListener.close()
}

/** Creates a payment that needs a person's approval. Returns the payment's id. */
export async function createPaymentInReview({ world }: Site, description: string): Promise<string> {
  const { setLimits, pay } = payer(world)
  const agentId = String((await world.whoami()).agentId)
  await setLimits('agents', agentId, { perTransaction: 100 })
  const { id } = ok(await pay(5000, { type: 'email', value: 'payee@example.com' }, { description })).json.data
  await setLimits('agents', agentId, null)
  return id
}
