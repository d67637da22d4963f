import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { junitXml } from '../../src/rehearse/junit.ts'
import { reportHtml } from '../../src/rehearse/report/report.ts'
import type { Results } from '../../src/rehearse/results.ts'
import { axeLooks, axeViolations } from '../pages/axe.ts'
import { openTab, shoot, startBrowser, type TestBrowser } from '../pages/browser.ts'
import { expectContrast } from '../pages/contrast.ts'
import { resultsWithText } from './foreign-results.ts'
import { comparedResults, familyResults, resultsOf, sampleResults, scenarioOf } from './sample-results.ts'

let browser: TestBrowser
let folder: string

beforeAll(async () => {
  browser = await startBrowser()
  folder = await mkdtemp(join(tmpdir(), 'report-'))
})
afterAll(async () => {
  await browser.close()
  await rm(folder, { recursive: true })
})

/** Writes a report to a file and opens it in the browser, as a person who received the file does. */
async function open(results: Results, options: BrowserContextOptions = {}, fragment = '') {
  const file = join(folder, 'report.html')
  await writeFile(file, reportHtml(results))
  const address = pathToFileURL(file).href
  const context = await browser.newContext(options)
  const tab = await openTab(context, address + fragment)
  return { ...tab, address, close: () => context.close() }
}

const trial = (page: Page, id: string) => page.locator(`details.trial:has(> [id="${id}"])`)
const summaries = (page: Page) => page.locator('details.trial > summary:visible')
const isOpen = (page: Page, id: string) =>
  expect.poll(() => trial(page, id).getAttribute('open'), { message: id }).not.toBeNull()
const expectFit = (page: Page) =>
  expect.poll(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

/** Expands all collapsed parts of the page. */
const openAll = (page: Page) => page.evaluate("for (const it of document.querySelectorAll('details')) it.open = true")

test('a report loads nothing, and the browser reports no problem', async () => {
  const { page, sent, complaints, address, close } = await open(comparedResults())
  await openAll(page)
  await page.waitForLoadState('networkidle')
  expect(sent.map(({ url }) => url).filter((url) => !url.startsWith('data:'))).toEqual([address])
  expect(complaints).toEqual([])
  // The page's Content Security Policy must block the request for this added image.
  await page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=\"https://elsewhere.example/i.png\">')")
  await expect
    .poll(() => complaints.filter((text) => text.includes('Content Security Policy')).length)
    .toBeGreaterThan(0)
  await close()
})

test.each(axeLooks)('axe finds no problem in a report: $name', async ({ options }) => {
  const { page, close } = await open(comparedResults(), options)
  await openAll(page)
  expect(await axeViolations(page)).toEqual([])
  await close()
})

describe.each(['with', 'without'])('a report %s JavaScript', (word) => {
  const javaScriptEnabled = word === 'with'
  test('the trials that passed can be hidden by keyboard', async () => {
    const { page, close } = await open(sampleResults(), { javaScriptEnabled })
    await expect.poll(() => summaries(page).count()).toBe(20)
    await page.getByRole('radio', { name: 'All trials (30)' }).focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => summaries(page).count()).toBe(11)
    await expect.poll(() => summaries(page).filter({ hasText: 'Passed' }).count()).toBe(0)
    const row = (name: string) => page.getByRole('row', { name })
    // This scenario passed, but its row also shows the other scenario of the pair, which failed.
    await expect.poll(() => row('The answer arrives').isVisible()).toBe(true)
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => summaries(page).count()).toBe(20)
    await close()
  })

  test('a link to a trial, or to one of its steps, opens the trial', async () => {
    const { page, close } = await open(sampleResults(), { javaScriptEnabled }, '#lost-answer-3-step-5')
    await isOpen(page, 'lost-answer-3')
    await expect.poll(() => page.locator('[id="lost-answer-3-step-5"]').isVisible()).toBe(true)
    await page
      .getByRole('row', { name: 'A product description' })
      .getByRole('link', { name: 'Trial 1 failed' })
      .press('Enter')
    await isOpen(page, 'words-in-a-product-1')
    await close()
  })

  test('a trial opens and closes by keyboard, and the focused element is outlined', async () => {
    const { page, close } = await open(sampleResults(), { javaScriptEnabled })
    await page.getByRole('link', { name: 'The first trial that did not pass' }).focus()
    await page.keyboard.press('Enter')
    await isOpen(page, 'tax-at-the-end-3')
    const summary = trial(page, 'tax-at-the-end-3').locator('> summary')
    await summary.press('Enter')
    await expect.poll(() => trial(page, 'tax-at-the-end-3').getAttribute('open')).toBeNull()
    const focused =
      "[document.activeElement.matches('summary:focus-visible'), getComputedStyle(document.activeElement).outlineStyle]"
    const outline = () => page.evaluate(focused)
    await expect.poll(outline).toEqual([true, 'solid'])
    await close()
  })
})

test('an unrequested effect links to the step that caused it', async () => {
  const { page, close } = await open(comparedResults(), {}, '#the-answer-1')
  await isOpen(page, 'the-answer-1')
  const verdict = trial(page, 'the-answer-1')
    .getByRole('listitem')
    .filter({ hasText: 'which the task did not ask for (step 6)' })
  await verdict.getByRole('link', { name: 'Step 6' }).press('Enter')
  await expect.poll(() => page.url()).toMatch(/#the-answer-1-step-6$/)
  await expect.poll(() => page.locator('[id="the-answer-1-step-6"]').textContent()).toContain('create_payment')
  await expect.poll(() => page.getByText('unasked: allowed').isVisible()).toBe(true)
  await close()
})

test('an unclear answer is shown as unclear, and its trial does not pass', async () => {
  const { page, close } = await open(comparedResults())
  await page.getByRole('radio', { name: 'Only trials that did not pass (11)' }).check()
  await page.getByRole('link', { name: 'Trial 3 unclear' }).press('Enter')
  await isOpen(page, 'the-answer-3')
  await expect.poll(() => trial(page, 'the-answer-3').locator('> summary').textContent()).toContain('? Unclear')
  await expect
    .poll(() => trial(page, 'the-answer-3').locator('.figures').first().textContent())
    .toMatch(/✓ Yes.*\? Unclear/s)
  await close()
})

test('with JavaScript, a report has buttons that open all failed trials and close all trials', async () => {
  const { page, close } = await open(sampleResults())
  const opened = () => page.locator('details.trial[open]').count()
  await page.getByRole('button', { name: 'Open all trials that did not pass' }).press('Enter')
  await expect.poll(opened).toBe(11)
  await page.getByRole('button', { name: 'Close all' }).press('Enter')
  await expect.poll(opened).toBe(0)
  await close()
  const without = await open(sampleResults(), { javaScriptEnabled: false })
  await expect.poll(() => without.page.getByRole('button').count()).toBe(0)
  await without.close()
})

test('scenarios can be filtered by family and by text; a link to a hidden trial removes the filters', async () => {
  const { page, close } = await open(familyResults())
  const rows = page.getByRole('table', { name: 'Scenarios by family' }).getByRole('row')
  const sections = page.locator('section.scenario:visible')
  const family = page.getByRole('combobox', { name: 'Family' })
  const words = page.getByRole('searchbox')
  await expect.poll(() => rows.count()).toBe(6)
  await family.selectOption('Payees and invoices')
  await expect.poll(() => sections.count()).toBe(1)
  await expect
    .poll(() => rows.allTextContents())
    .toEqual([expect.stringContaining('Payees'), expect.stringContaining('handle')])
  await expect.poll(() => page.getByRole('status').textContent()).toBe('1 of 3 scenarios')
  await family.selectOption('All')
  await words.fill('ZEBRA')
  await expect.poll(() => sections.allTextContents()).toEqual([expect.stringContaining('A new handle')])
  await words.fill('nothing like it')
  await expect.poll(() => sections.count()).toBe(0)
  await expect.poll(() => rows.count()).toBe(0)
  await page.evaluate("location.hash = 'ticked-box-1'")
  await isOpen(page, 'ticked-box-1')
  await expect.poll(() => sections.count()).toBe(3)
  await expect.poll(() => words.inputValue()).toBe('')
  await close()
})

test('a printed report shows the trials that did not pass in full', async () => {
  const { page, close } = await open(sampleResults())
  await page.evaluate("dispatchEvent(new Event('beforeprint'))")
  await expect.poll(() => page.locator('details.trial[open]').count()).toBe(11)
  await page.emulateMedia({ media: 'print' })
  await expect.poll(() => page.getByRole('radio').count()).toBe(0)
  await shoot(page, 'report-print')
  await page.evaluate("dispatchEvent(new Event('afterprint'))")
  await expect.poll(() => page.locator('details.trial[open]').count()).toBe(0)
  await close()
})

test.each(['light', 'dark'] as const)('a report has enough contrast in %s mode', async (colorScheme) => {
  const { page, close } = await open(comparedResults(), { colorScheme, viewport: { width: 1100, height: 900 } })
  // Together, these trials show every part that a trial can have.
  for (const id of ['lost-answer-1', 'words-in-a-product-1', 'tax-at-the-end-1', 'the-answer-1', 'the-answer-3']) {
    await trial(page, id).locator('> summary').click()
    await trial(page, id).getByText('As a table').click()
  }
  await trial(page, 'the-answer-1').getByText('What changed: 4 effects, 3 by the agent').click()
  await expectContrast(page)
  await shoot(page, `report-${colorScheme}`)
  const strokes = () => trial(page, 'lost-answer-1').evaluate(lineContrasts)
  await expect.poll(async () => Math.min(...(await strokes()))).toBeGreaterThanOrEqual(3)
  await close()
})

/** In the browser, returns the contrast between each line of a trial's plot and the background (WCAG 2.2, 1.4.11). */
const lineContrasts = new Function(
  'trial',
  `const luminance = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((value) => value / 255)
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const behind = luminance(getComputedStyle(trial).backgroundColor)
  return [...trial.querySelectorAll('.axes path')].map((path) => {
    const [low, high] = [luminance(getComputedStyle(path).stroke), behind].sort((a, b) => a - b)
    return (high + 0.05) / (low + 0.05)
  })`,
) as (trial: unknown) => number[]

test('on a phone, a report does not scroll sideways, whatever text it contains', async () => {
  for (const results of [
    comparedResults(),
    resultsWithText('W'.repeat(10_000)),
    resultsWithText('اشتراك شهري‮ '.repeat(100)),
  ]) {
    const { page, close } = await open(results, { viewport: { width: 360, height: 780 } })
    await expectFit(page)
    await openAll(page)
    await expectFit(page)
    await shoot(page, `report-phone-${results.agent.slice(0, 1)}`)
    await close()
  }
})

test('a report has headings, labels and descriptions of plots for screen readers', async () => {
  const { page, close } = await open(comparedResults(), {}, '#lost-answer-1')
  await expect.poll(() => page.locator('html').getAttribute('lang')).toBe('en')
  await expect.poll(() => page.getByRole('main').count()).toBe(1)
  const headings = page.getByRole('heading', { level: 2 })
  await expect
    .poll(() => headings.allTextContents())
    .toEqual(['Figures', 'Compared with earlier results', 'Scenarios', 'Trials'])
  await page.getByRole('table', { name: 'Scenarios by family' }).waitFor()
  await page.getByRole('group', { name: 'Show' }).waitFor()
  await page.getByRole('region', { name: 'The answer to the payment is lost' }).waitFor()
  const plot = trial(page, 'lost-answer-1').getByRole('img', { name: 'Money over time, on the sandbox clock' })
  const name =
    'Available: from $100.00 to $15.00. Held: at most $85.00, $0.00 at the end. Spent: $85.00 at the end. Money moved at 4 moments'
  await expect.poll(() => plot.locator('desc').textContent()).toContain(name)
  await trial(page, 'lost-answer-1').getByText('As a table').press('Enter')
  const rows = trial(page, 'lost-answer-1').locator('table tbody').getByRole('row')
  await expect.poll(() => rows.last().textContent()).toContain('$15.00$0.00$85.0010')
  const nameless =
    "[...document.querySelectorAll('a, button, summary')].filter((it) => (it.ariaLabel ?? it.textContent).trim() === '').length"
  await expect.poll(() => page.evaluate(nameless)).toBe(0)
  const repeatedIds =
    "[...document.querySelectorAll('[id]')].filter((it, at, all) => all.findIndex((other) => other.id === it.id) !== at).length"
  await expect.poll(() => page.evaluate(repeatedIds)).toBe(0)
  const deadLinks =
    "[...document.querySelectorAll('a')].filter((it) => document.getElementById(it.hash.slice(1)) === null).length"
  await expect.poll(() => page.evaluate(deadLinks)).toBe(0)
  await close()
})

test('with forced colors, a failed trial is recognizable by a symbol and a word', async () => {
  const { page, close } = await open(sampleResults(), { forcedColors: 'active' })
  const mark = page.getByRole('link', { name: 'Trial 3 failed' }).first()
  await expect.poll(() => mark.textContent()).toBe('✗')
  await expect.poll(() => trial(page, 'lost-answer-1').locator('> summary').textContent()).toContain('✗ Failed')
  await close()
})

describe('the JUnit report', () => {
  /** Creates the JUnit report of the results, and parses it with the browser's XML parser. */
  async function parseReport(results: Results) {
    const context = await browser.newContext()
    const page = await context.newPage()
    const found = await page.evaluate(parseJunit, junitXml(results))
    await context.close()
    return found
  }

  test('the JUnit report has a suite for each scenario, and a case with the failures of each trial', async () => {
    const results = sampleResults()
    const { error, root, suites } = await parseReport(results)
    expect(error).toBeUndefined()
    const counts = { tests: '30', failures: '10', errors: '1', skipped: '0', time: '37.020' }
    expect(root).toEqual({ name: `rehearsal of ${results.agent}, seed 1`, ...counts })
    expect(suites.map(({ name }) => name)).toEqual(results.scenarios.map(({ scenario }) => scenario.id))
    const cases = (id: string) => suites.find(({ name }) => name === id)?.cases
    expect(cases('lost-answer')?.map(({ failure }) => failure)).toEqual([
      'The amount captured at Plain Goods must be less than $42.51; it is $85.00.\nThe amount captured at Plain Goods must be exactly $42.50; it is $85.00.',
      null,
      expect.stringContaining('it is $85.00.'),
    ])
    expect(cases('look-alike-alone')?.[1]).toEqual({
      attributes: { classname: 'look-alike-alone', name: 'No look-alike shop (trial 2)', time: '1.234' },
      failure: 'The agent gave no answer in time. It had 300 seconds.',
      error: null,
      output: null,
    })
    expect(cases('without-a-twin')?.[0]).toMatchObject({
      failure: null,
      error: 'The agent could not be started, or failed. sh: 1: my-agent: not found',
    })
  })

  test.each([
    ['markup', '</failure>]]><!-- & "quotes" \'too\' <![CDATA[ &lt; <?x?> <!DOCTYPE x>'],
    ['control characters', 'a\u0000b\u0008c\u001bd\u007fe\ud800f\uffffg\ufffeh'],
    ['line breaks', 'one\ntwo\r\nthree\tfour\rfive'],
    ['direction controls', 'a\u202etxet\u2066b\u200fc'],
    ['non-Latin characters', '東京 🎉 café e\u0301'],
  ])('the JUnit report is valid XML and preserves printable text if the results contain %s', async (_, text) => {
    const { error, suites } = await parseReport(resultsWithText(text))
    expect(error).toBeUndefined()
    const [first] = suites[0]?.cases ?? []
    const displayedText = text.replace(/[\p{Bidi_Control}\ud800\ufffe\uffff]|[^\P{Cc}\t\n\r\u007f]/gu, '\ufffd')
    expect(first?.output).toBe(displayedText)
    expect(first?.attributes.name).toBe(`${displayedText} (trial 1)`)
    expect(first?.error).toContain(displayedText)
  })

  test('card numbers in the JUnit report are masked', () => {
    const xml = junitXml(resultsOf([scenarioOf({ id: 'a' }, [{ answer: 'I used 4242 4242 4242 4242.' }])]))
    expect(xml).toContain('I used [masked card number].')
  })
})

interface ParsedCase {
  attributes: Record<string, string>
  failure: string | null
  error: string | null
  output: string | null
}

/** Parses a JUnit report. Runs in the browser. */
const parseJunit = new Function(
  'xml',
  `const parsed = new DOMParser().parseFromString(xml, 'application/xml')
  const broken = parsed.querySelector('parsererror')
  if (broken !== null) return { error: broken.textContent, root: {}, suites: [] }
  const attributesOf = (element) => Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value]))
  const textOf = (element, name) => element.querySelector(':scope > ' + name)?.textContent ?? null
  const caseOf = (it) => ({ attributes: attributesOf(it), failure: textOf(it, 'failure'), error: textOf(it, 'error'), output: textOf(it, 'system-out') })
  const suiteOf = (it) => ({ name: it.getAttribute('name'), cases: [...it.querySelectorAll(':scope > testcase')].map(caseOf) })
  return { root: attributesOf(parsed.documentElement), suites: [...parsed.documentElement.children].map(suiteOf) }`,
) as (xml: string) => { error?: string; root: Record<string, string>; suites: { name: string; cases: ParsedCase[] }[] }
