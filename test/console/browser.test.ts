import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { arrive, type Site, shoot, startBrowser, startSite, type TestBrowser } from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { entriesOf } from '../runs/stored-entries.ts'
import { type Looks, openConsole, restart, waitUntilLive, waitUntilPageFits } from './open-console.ts'

let site: Site
let browser: TestBrowser
const instanceId = 'run 1'
let entryCount = 0

beforeAll(async () => {
  site = await startSite()
  browser = await startBrowser()
  const cardId = await site.world.issueCard({ maximumAmount: 700 }, { instanceId })
  await site.world.authorize(cardId, 400, { instanceId })
  expect((await site.world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })).status).toBe(422)
  const name = `\u202e${'W'.repeat(98)}`
  await site.world.issueCard({ merchant: { name: 'W'.repeat(100) } }, { instanceId: 'W'.repeat(1000) })
  expect((await site.world.post('/agent-cards', { merchant: { name } }, { instanceId: name.slice(1) })).status).toBe(
    422,
  )
  entryCount = (await entriesOf(site.world)).length
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

const open = (path: string, looks?: Looks) => openConsole({ browser, site }, path, looks)

async function runPath(): Promise<string> {
  const [entry] = await entriesOf(site.world)
  return `/console/runs/${entry?.runId}`
}

test('a new run appears in the list, and a new call in the timeline of its run, without a reload', async () => {
  const { page, context, complaints } = await open('/console')
  await waitUntilLive(page)
  await site.world.get('/wallets', { instanceId: 'a new run' })
  await page.getByRole('link', { name: 'a new run' }).click()
  await arrive(page, 'a new run')
  await waitUntilLive(page)
  await site.world.get('/no-such-route', { instanceId: 'a new run' }).then(({ status }) => expect(status).toBe(404))
  await site.world.issueCard({}, { instanceId: 'a new run' })
  await page.getByText('issue_agent_card').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a read moves into the row of its tool call as soon as the page shows the call, and later reads are added there', async () => {
  const sent = { instanceId: 'reading', headers: { 'X-MCP-Tool-Call-Id': 'one' } }
  await site.world.get('/whoami', { instanceId: 'reading' })
  const [entry] = await entriesOf(site.world, 'reading')
  const { page, context, complaints } = await open(`/console/runs/${entry?.runId}`)
  await waitUntilLive(page)
  const rows = () => page.locator('.entry .tool code').allTextContents()
  const read = async () => {
    await site.world.get('/wallets', sent)
    await site.world.service.runLog.flush()
  }
  await read()
  await expect.poll(rows).toEqual(['list_wallets', 'whoami'])
  await site.world.issueCard({}, { ...sent, headers: { ...sent.headers, 'X-MCP-Tool-Call': 'true' } })
  await site.world.service.runLog.flush()
  await expect.poll(rows).toEqual(['issue_agent_card', 'whoami'])
  const call = page.locator('.entry').filter({ hasText: 'issue_agent_card' })
  await call.getByText('+1 read', { exact: true }).waitFor()
  await read()
  await call.getByText('+2 reads', { exact: true }).waitFor()
  expect(await rows()).toEqual(['issue_agent_card', 'whoami'])
  await call.locator('summary').first().click()
  await expect.poll(() => call.getByRole('region', { name: 'Reads for this call' }).getByRole('link').count()).toBe(2)
  expect(complaints).toEqual([])
  await context.close()
})

test('an entry can be opened and closed with the keyboard alone', async () => {
  const { page, context, complaints } = await open(await runPath())
  const entry = page.getByRole('listitem').filter({ hasText: 'simulate_card_authorization' })
  const summary = entry.locator('summary').first()
  await summary.focus()
  await page.keyboard.press('Enter')
  await entry.getByRole('heading', { name: 'Ledger' }).waitFor()
  await expect.poll(() => entry.getByRole('table').textContent()).toMatch(/Sum\s*\$0\.00/)
  await shoot(page, 'console-entry-open')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await expect.poll(() => entry.getByRole('heading', { name: 'Ledger' }).isVisible()).toBe(false)
  await expect.poll(() => summary.evaluate(hasFocus)).toBe(true)
  expect(complaints).toEqual([])
  await context.close()
})

/** Returns whether an element has the focus. Playwright runs this function in the browser. */
const hasFocus = new Function('it', 'return it.matches(":focus")') as (it: unknown) => boolean

test('the first Tab stop of the console is a link past the navigation bar', async () => {
  const { page, context } = await open('/console')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')
  await context.close()
})

test('the filter of a run and the page of an entry work without JavaScript', async () => {
  const { page, context } = await open(await runPath(), { script: false })
  await expect
    .poll(() =>
      page
        .getByRole('listitem')
        .filter({ has: page.locator('summary') })
        .count(),
    )
    .toBe(entryCount)
  await page.getByLabel('Outcome').selectOption({ label: 'Refused' })
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await expect
    .poll(() =>
      page
        .getByRole('listitem')
        .filter({ has: page.locator('summary') })
        .count(),
    )
    .toBe(1)
  await page.getByRole('listitem').locator('summary').first().click()
  await page.getByRole('link', { name: 'Open this entry' }).click()
  await arrive(page, 'issue_agent_card')
  await page.getByText('invalid_value').first().waitFor()
  await context.close()
})

test('the page of a run says when the connection is lost, and shows missed calls after it reconnects', async () => {
  const other = await startSite()
  await other.world.get('/wallets', { instanceId })
  const [entry] = await entriesOf(other.world)
  const { page, context } = await openConsole({ browser, site: other }, `/console/runs/${entry?.runId}`)
  await waitUntilLive(page)
  const end = await restart(other, page, async () => {
    await other.world.issueCard({}, { instanceId })
    await entriesOf(other.world)
  })
  await page.getByText('issue_agent_card').waitFor()
  await context.close()
  await end()
  await other.world.drop()
})

describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
  test('the pages of runs and entries have enough contrast and fit on a phone, even with very long names', async () => {
    const path = await runPath()
    const [entry] = (await entriesOf(site.world)).slice(-2)
    for (const [name, at] of Object.entries({ runs: '/console', run: path, entry: `${path}/entries/${entry?.id}` })) {
      const { page, context, complaints } = await open(at, { colorScheme })
      await expectContrast(page)
      await shoot(page, `console-${name}-${colorScheme}`)
      await page.setViewportSize({ width: 360, height: 740 })
      await waitUntilPageFits(page)
      await shoot(page, `console-${name}-${colorScheme}-phone`)
      expect(complaints).toEqual([])
      await context.close()
    }
  })
})

test('a screen reader finds every part of the runs pages by role and name', async () => {
  const { page, context } = await open('/console')
  await expect.poll(() => page.getByRole('navigation', { name: 'Pages' }).count()).toBe(1)
  await expect.poll(() => page.getByRole('main').getByRole('heading', { level: 1, name: 'Runs' }).count()).toBe(1)
  await expect.poll(() => page.getByRole('search').getByRole('textbox').count()).toBe(1)
  await expect.poll(() => page.getByRole('table', { name: /Runs/ }).count()).toBe(1)
  await page.goto(site.listener.url + (await runPath()))
  await expect
    .poll(() =>
      page
        .getByRole('region', { name: /Entries/ })
        .getByRole('list')
        .count(),
    )
    .toBe(1)
  await context.close()
})
