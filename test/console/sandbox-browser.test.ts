import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Site, shoot, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { type Looks, openConsole, restart, waitUntilLive, waitUntilPageFits } from './open-console.ts'

let site: Site
let browser: TestBrowser
const address = '/console/sandbox'

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  await site.world.authorize(await site.world.issueCard({ maximumAmount: 700 }), 400)
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

const open = (looks?: Looks) => openConsole({ browser, site }, address, looks)

const now = async () => Date.parse((await site.world.get('/simulations/clock')).json.data.attributes.now)
const waitForStatus = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor()

describe.each(['with', 'without'])('the sandbox page %s JavaScript', (support) => {
  test('the clock, faults, snapshots and the reset can be used with the keyboard alone', async () => {
    const { page, context, complaints } = await open({ script: support === 'with' })
    const press = async (name: string | RegExp) => {
      await page.getByRole('button', { name, exact: typeof name === 'string' }).press('Enter')
    }
    const unfold = async (name: string) => {
      const summary = page.locator('summary').filter({ hasText: name })
      await summary.focus()
      await page.keyboard.press('Enter')
    }
    const before = await now()
    await press('+1 day')
    await waitForStatus(page, 'moved forward by 1 day')
    expect((await now()) - before).toBeGreaterThanOrEqual(86_400_000 - 60_000)
    await unfold('Add a fault')
    await page.getByLabel('Tool').fill('get_wallet')
    await page.locator('select[name="fault"]').selectOption('slow')
    await press('Add the fault')
    await waitForStatus(page, 'Fault added.')
    await press(/^Clear flt_/)
    await waitForStatus(page, 'Faults cleared.')
    const names = page.locator('form[action$="/save"] input[name="name"]')
    await names.fill('mine')
    await names.press('Enter')
    await waitForStatus(page, 'Snapshot saved.')
    await unfold('Reset…')
    await press('Reset the sandbox')
    await waitForStatus(page, 'Sandbox reset')
    await unfold('Restore…')
    await press('Restore mine')
    await waitForStatus(page, 'Snapshot restored')
    await press('Delete mine')
    await waitForStatus(page, 'Snapshot deleted.')
    expect(complaints).toEqual([])
    await context.close()
  })
})

test('changes made elsewhere appear on the sandbox page without a reload', async () => {
  const { page, context, complaints } = await open()
  await waitUntilLive(page)
  await site.world.post('/simulations/clock/advance', { to: '2031-02-03T04:05:06Z' })
  await page.getByText(/2031/).first().waitFor()
  await site.world.post('/simulations/faults', { id: 'elsewhere', operation: 'get_wallet', fault: 'slow' })
  await page.getByRole('rowheader', { name: 'elsewhere' }).waitFor()
  await site.world.send('DELETE', '/simulations/faults')
  await page.getByRole('rowheader', { name: 'elsewhere' }).waitFor({ state: 'detached' })
  await site.world.post('/simulations/snapshots', { name: 'kept-elsewhere' })
  const saved = page.getByRole('region', { name: 'Snapshots' }).getByText('kept-elsewhere', { exact: true }).first()
  await saved.waitFor()
  await site.world.send('DELETE', '/simulations/snapshots/kept-elsewhere')
  await saved.waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})

test('the sandbox page says that the connection is lost, and shows the missed changes once it is restored', async () => {
  const other = await startSite()
  const { page, context } = await openConsole({ browser, site: other }, address)
  await waitUntilLive(page)
  const rule = { id: 'meanwhile', operation: 'get_wallet', fault: 'slow' }
  const end = await restart(other, page, () => other.world.post('/simulations/faults', rule))
  await page.getByRole('rowheader', { name: 'meanwhile' }).waitFor()
  await context.close()
  await end()
  await other.world.drop()
})

test('the parts, buttons and fields of the sandbox page have names for screen readers', async () => {
  await site.world.authorize(await site.world.issueCard({ maximumAmount: 700 }), 400)
  await site.world.post('/simulations/snapshots', { name: 'heard' })
  await site.world.post('/simulations/faults', { id: 'heard', operation: 'get_wallet', fault: 'slow' })
  const { page, context, complaints } = await open()
  const region = (name: string) => page.getByRole('main').getByRole('region', { name, exact: true })
  for (const name of ['Clock', 'World', 'Faults', 'Snapshots', 'Reset', 'Shops']) {
    await region(name).getByRole('heading', { level: 2, name, exact: true }).waitFor()
  }
  await page.locator('details').evaluateAll((all) => {
    for (const it of all) it.setAttribute('open', '')
  })
  for (const [part, names] of Object.entries({
    Clock: ['+1 hour', '+1 day', 'Go to the next event', 'Move'],
    Faults: ['Clear heard', 'Add the fault'],
    Snapshots: ['Save', 'Restore heard', 'Delete heard'],
    Reset: ['Reset the sandbox'],
  })) {
    for (const name of names) await region(part).getByRole('button', { name, exact: true }).waitFor()
  }
  const table = region('Faults').getByRole('table', { name: 'Faults', exact: true })
  for (const name of ['Rule', 'Applies to', 'Fault', 'When', 'Matched', 'Applied', 'Clear']) {
    await table.getByRole('columnheader', { name, exact: true }).waitFor()
  }
  const unnamed = await page
    .getByRole('main')
    .locator('input:not([type=hidden]), select, button')
    .evaluateAll((all) =>
      all
        .filter(
          (it) =>
            !('labels' in it && (it.labels as { length: number } | null)?.length) && it.textContent?.trim() === '',
        )
        .map((it) => it.outerHTML),
    )
  expect(unnamed).toEqual([])
  // Each link to the run of an upcoming effect also names the record of the effect, because people who use a screen
  // reader may hear the links without the text around them.
  await expect
    .poll(() =>
      region('Clock')
        .getByRole('link', { name: /^View run\s?: \$[\d.]+ at / })
        .count(),
    )
    .toBeGreaterThan(0)
  expect(complaints).toEqual([])
  await site.world.send('DELETE', '/simulations/faults')
  await site.world.send('DELETE', '/simulations/snapshots/heard')
  await context.close()
})

test('untrusted names appear as plain text that neither overflows the page nor reverses the text around it', async () => {
  const hostile = '\u202e\u2066<b id="evil">'
  const name = `${hostile}${'W'.repeat(80)}`
  const cardId = await site.world.issueCard({ maximumAmount: 700, merchant: { name } })
  const charge = { amount: 400, currency: 'USD', merchant: { name } }
  expect((await site.world.post(`/simulations/agent-cards/${cardId}/authorize`, charge)).status).toBe(200)
  const when = { instanceId: `${hostile}${'L'.repeat(900)}` }
  expect(
    (await site.world.post('/simulations/faults', { id: 'odd', operation: 'get_wallet', fault: 'slow', when })).status,
  ).toBe(200)
  expect((await site.world.post('/simulations/snapshots', { name: hostile })).status).toBe(422)
  const { page, context, complaints } = await open({ width: 360 })
  await page.getByRole('rowheader', { name: 'odd' }).waitFor()
  await page.getByText('<b id="evil">WW').first().waitFor()
  expect(await page.locator('#evil').count()).toBe(0)
  await expect.poll(() => page.getByRole('main').textContent()).not.toMatch(/[\u202a-\u202e\u2066]/)
  await waitUntilPageFits(page)
  await shoot(page, 'console-sandbox-hostile-phone')
  expect(complaints).toEqual([])
  await site.world.send('DELETE', '/simulations/faults')
  await context.close()
})

test.each(['light', 'dark'] as const)(
  'in %s mode, the sandbox page has enough contrast and fits on a phone',
  async (colorScheme) => {
    await site.world.authorize(await site.world.issueCard({ maximumAmount: 700 }), 400)
    const { page, context, complaints } = await open({ colorScheme })
    await page.locator('details').evaluateAll((all) => {
      for (const it of all) it.setAttribute('open', '')
    })
    await expectContrast(page)
    await shoot(page, `console-sandbox-${colorScheme}`)
    await page.setViewportSize({ width: 360, height: 740 })
    await waitUntilPageFits(page)
    await shoot(page, `console-sandbox-${colorScheme}-phone`)
    expect(complaints).toEqual([])
    await context.close()
  },
)
