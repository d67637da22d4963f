import type { FrameLocator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBrowser, type TestBrowser } from '../pages/browser.ts'
import { created, payer } from '../payments/payer.ts'
import { sqlite } from '../support/databases.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { openHost, type TestHost } from './host.ts'

let browser: TestBrowser
let world: World

beforeAll(async () => {
  browser = await startBrowser()
  world = await createWorld(sqlite)
})
afterAll(async () => {
  await browser.close()
  await world.drop()
})

/** The folder for screenshots of the views. Without APPS_SHOTS, no screenshots are saved. */
const shots = process.env.APPS_SHOTS

async function saveScreenshot({ page }: TestHost, name: string): Promise<void> {
  if (shots !== undefined) await page.screenshot({ path: `${shots}/apps-${name}.png`, fullPage: true })
}

/** A script that runs in the view. It finds text whose contrast with its background is too low (WCAG 2.2, 1.4.3). */
const contrastScript = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number)
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((value) =>
      value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  }
  const behind = (element) => {
    const { backgroundColor } = getComputedStyle(element)
    return channels(backgroundColor)[3] === 0 ? behind(element.parentElement) : backgroundColor
  }
  const texts = [...document.body.querySelectorAll('main *')].filter(
    (element) => element.checkVisibility() && element.children.length === 0 && (element.value || element.textContent.trim()),
  )
  const weak = texts.filter((element) => ratio(getComputedStyle(element).color, behind(element)) < 4.5)
  return { weak: weak.map((element) => element.outerHTML), checkedCount: texts.length }
})()`

async function expectAppearance({ page, view }: TestHost, scheme: 'light' | 'dark'): Promise<void> {
  const [, frame] = page.frames()
  if (frame === undefined) throw new Error('The host shows no view.')
  const { weak, checkedCount } = (await frame.evaluate(contrastScript)) as { weak: string[]; checkedCount: number }
  expect(weak).toEqual([])
  expect(checkedCount).toBeGreaterThan(10)
  await expect
    .poll(() => styleOf(view, 'backgroundColor'))
    .toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(26, 29, 35)')
  // The view reports its height, and the host makes the frame that high, so the whole view is visible.
  const height = (): Promise<number> => view.locator('body').evaluate('document.body.offsetHeight - innerHeight')
  await expect.poll(height).toBeLessThanOrEqual(0)
}

const styleOf = (view: FrameLocator, property: string): Promise<string> =>
  view.locator('body').evaluate(`getComputedStyle(document.body).${property}`)

const purchaseInput = async (amount = 4250) => {
  const cardId = await world.issueCard()
  return { cardId, amount, currency: 'USD', merchant: { name: 'Books' } }
}

describe.each(['light', 'dark'] as const)('views in a browser with the color scheme %s', (scheme) => {
  const other = scheme === 'light' ? 'dark' : 'light'

  test('all text of every view has enough contrast, and no view is cut off', async () => {
    const host = await openHost(browser, world, { colorScheme: scheme, key: world.apiKey })
    const waitUntilLive = () => host.view.getByText('Updates automatically.').waitFor()

    const purchase = await host.use('simulate_card_authorization', await purchaseInput())
    await waitUntilLive()
    await host.view.getByRole('textbox').fill('99')
    await host.view.getByRole('button', { name: 'Capture' }).click()
    await host.view.getByText('Enter an amount').waitFor()
    await expectAppearance(host, scheme)
    await saveScreenshot(host, `purchase-${scheme}`)

    const cardTransactionId = purchase.structuredContent?.data.id
    const part = { amount: 3000, currency: 'USD' }
    await world.post(`/simulations/card-transactions/${cardTransactionId}/capture`, part)
    await world.post(`/simulations/card-transactions/${cardTransactionId}/refund`, { ...part, amount: 1050 })
    // The host's theme overrides the browser's color scheme.
    await host.use('get_card_transaction', { cardTransactionId }, { context: { theme: other } })
    await waitUntilLive()
    await expectAppearance(host, other)
    await saveScreenshot(host, `refunded-${other}`)

    await host.use('simulate_card_authorization', await purchaseInput(5001))
    await host.view.getByText('No further changes.').waitFor()
    await expectAppearance(host, scheme)
    await saveScreenshot(host, `declined-${scheme}`)

    await host.use('get_agent_card', { cardId: await world.issueCard() })
    await waitUntilLive()
    await expectAppearance(host, scheme)
    await saveScreenshot(host, `card-${scheme}`)

    await host.use('get_approval', { approvalId: await requestApproval() })
    await waitUntilLive()
    await expectAppearance(host, scheme)
    await saveScreenshot(host, `approval-${scheme}`)
    expect(host.complaints).toEqual([])
    await host.close()
  })
})

async function requestApproval(): Promise<string> {
  const self = payer(world)
  const { agentId } = await world.whoami()
  await self.setLimits('agents', agentId ?? '', { perTransaction: 1000 })
  const other = await addParty(world)
  const paymentId = created(await self.pay(2000, { type: 'party_id', value: other.partyId }, { description: 'Desk' }))
  // The limit is removed, because later tests spend more.
  await self.setLimits('agents', agentId ?? '', null)
  return (await self.approvalOf(paymentId)).id
}

test("a view adopts the host's theme, colors and typeface, and fits into a narrow window", async () => {
  const host = await openHost(browser, world)
  await host.use('simulate_card_authorization', await purchaseInput(), { context: { theme: 'light' } })
  await host.view.getByText('Updates automatically.').waitFor()
  const look = (property: string) => styleOf(host.view, property)
  await host.callHost('setContext', { theme: 'dark', timeZone: 'UTC' })
  await expect.poll(() => look('backgroundColor')).toBe('rgb(26, 29, 35)')

  const incompleteTheme = { '--color-background-primary': 'rgb(250, 240, 230)', '--font-sans': 'Georgia' }
  await host.callHost('setContext', { theme: 'light', styles: { variables: incompleteTheme } })
  await expect.poll(() => look('fontFamily')).toBe('Georgia')
  await expect.poll(() => look('backgroundColor')).toBe('rgb(255, 255, 255)')
  const completeTheme = {
    ...incompleteTheme,
    '--color-text-primary': 'rgb(1, 2, 3)',
    '--color-text-secondary': 'rgb(60, 60, 60)',
    '--color-border-secondary': 'rgb(200, 200, 200)',
  }
  await host.callHost('setContext', { theme: 'light', styles: { variables: completeTheme } })
  await expect.poll(() => look('backgroundColor')).toBe('rgb(250, 240, 230)')
  await expect.poll(() => look('color')).toBe('rgb(1, 2, 3)')

  await host.page.setViewportSize({ width: 320, height: 900 })
  const overflow = (): Promise<number> =>
    host.view.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
  await expect.poll(overflow).toBe(0)
  await saveScreenshot(host, 'narrow')
  await host.close()
})
