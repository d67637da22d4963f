import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Site, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { ok } from '../payments/payer.ts'
import { openConsole, waitUntilPageFits } from './open-console.ts'

let site: Site
let browser: TestBrowser

/** Creates two runs, six hours apart, so that a drag over the chart can select only one of them. */
beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  const { world } = site
  await world.get('/wallets', { instanceId: 'early' })
  const advance = { seconds: 6 * 3600 }
  ok(await world.post('/simulations/clock/advance', advance, { key: world.apiKey, instanceId: 'early' }))
  await world.get('/wallets', { instanceId: 'late' })
  await world.service.runLog.flush()
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

test.each([1280, 390])(
  'dragging over the chart filters the list of runs by the selected time, on a screen %i pixels wide',
  async (width) => {
    const { page, context } = await openConsole({ browser, site }, '/console', { width })
    const chart = page.locator('[data-chart]')
    const { x, y, width: wide } = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0 }
    await page.mouse.move(x + 0.7 * wide, y + 40)
    await page.mouse.down()
    await page.mouse.move(x + wide - 2, y + 40, { steps: 3 })
    await expect.poll(() => page.locator('[data-selection]').isVisible()).toBe(true)
    await page.mouse.up()
    // On a narrow screen, the filters are collapsed, so that the list of runs comes first.
    if (width === 390) await page.getByText('Filters, in use').click()
    await page.getByRole('link', { name: 'Clear filters' }).waitFor()
    const { searchParams } = new URL(page.url())
    expect([...searchParams.keys()].sort()).toEqual(['from', 'until'])
    await expect.poll(() => page.locator('[id^=row-]').count()).toBe(1)
    await page.getByRole('link', { name: 'late', exact: true }).waitFor()
    // In the value of a time field, the browser omits seconds that are zero. So the test compares the parsed times.
    const shown = await page.getByLabel('From (UTC)').inputValue()
    expect(Date.parse(shown)).toBe(Date.parse(String(searchParams.get('from'))))
    await waitUntilPageFits(page)
    await context.close()
  },
)

test('without JavaScript, the time fields filter the list and the chart', async () => {
  const { page, context } = await openConsole({ browser, site }, '/console', { script: false })
  const text = await page.locator('.over-time time').last().getAttribute('datetime')
  await page.getByLabel('From (UTC)').fill(new Date(Date.parse(String(text)) - 3_600_000).toISOString().slice(0, 19))
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('link', { name: 'Clear filters' }).waitFor()
  await expect.poll(() => page.locator('[id^=row-]').count()).toBe(1)
  await expect.poll(() => page.getByText('Click one, or drag').isVisible()).toBe(false)
  await context.close()
})
