import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fileOf, makeReport } from '../../src/service/pages/console/report/report-page.ts'
import { newestRuns } from '../../src/service/store/runs.ts'
import { axeLooks, axeViolations } from '../pages/axe.ts'
import { openTab, shoot, startBrowser, type TestBrowser } from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

let browser: TestBrowser
let world: World
let folder: string

beforeAll(async () => {
  browser = await startBrowser()
  folder = mkdtempSync(join(tmpdir(), 'run-report-'))
  world = await createWorld(sqlite)
  const sent = { instanceId: 'cursor-7' }
  const card = await world.issueCard({}, sent)
  const purchase = (await world.authorize(card, 3000, sent)).json.data.id
  const capture = { amount: 2000, currency: 'USD' }
  await world.post(`/simulations/card-transactions/${purchase}/capture`, capture, sent)
  await world.authorize(await world.issueCard({ merchant: { name: 'x'.repeat(100) } }, sent), 9000, sent)
  await world.service.runLog.flush()
  const [run] = await world.store.read((tx) => newestRuns(tx, 1))
  if (run === undefined) throw new Error('The world has no run.')
  const parts: string[] = []
  for await (const part of fileOf(
    world.store,
    await makeReport(world.store, run, { environment: 'sandbox', purpose: 'command' }),
    'html',
  ))
    parts.push(part)
  writeFileSync(join(folder, 'run.html'), parts.join(''))
})
afterAll(async () => {
  await browser.close()
  await world.drop()
  rmSync(folder, { recursive: true })
})

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [360, 1200]) {
    test(`a report file is readable in ${colorScheme} mode at ${width} pixels`, async () => {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } })
      const { page, complaints } = await openTab(context, pathToFileURL(join(folder, 'run.html')).href)
      await shoot(page, `run-report-${colorScheme}-${width}`)
      await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await expectContrast(page)
      await page.emulateMedia({ media: 'print' })
      await shoot(page, `run-report-${colorScheme}-${width}-print`)
      await expectContrast(page)
      expect(complaints).toStrictEqual([])
      await context.close()
    })
  }
}

test.each(axeLooks)('axe finds nothing wrong with a report file: $name', async ({ options }) => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(pathToFileURL(join(folder, 'run.html')).href)
  expect(await axeViolations(page)).toEqual([])
  await context.close()
})
