import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHostedSandbox } from '../../src/commands/hosted-sandbox.ts'
import { createLogger } from '../../src/config/log.ts'
import { realSystem } from '../../src/core/system.ts'
import { configOf } from '../../src/testing/options.ts'
import { openTab, shoot, startBrowser, type TestBrowser } from '../pages/browser.ts'

/**
 * Checks that a signed-in person who is new to the service can answer typical questions within three clicks from the
 * root address.
 */

let sandbox: Awaited<ReturnType<typeof openHostedSandbox>>
let browser: TestBrowser
let context: BrowserContext
/** The tool results that the model got for the purchase, and for the refund that the API refused. */
let results: { purchase: ToolResult; refused: ToolResult }

const maxClicks = 3
const instanceId = 'book-club-order'
const merchant = { name: 'Harbor Books' }
const usd = { currency: 'USD' }

beforeAll(async () => {
  const log = createLogger({ level: 'silent' })
  sandbox = await openHostedSandbox({ config: configOf({}), system: realSystem, log, worldFile: undefined })
  await sandbox.listen(0)
  browser = await startBrowser()
  context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
  results = await playRun()
  const { page } = await openTab(context, String(await sandbox.service.signInLink('/decisions')))
  await page.getByRole('button', { name: /Sign in as/ }).click()
  await page.getByRole('button', { name: 'Approve $42.00' }).click()
  await page.getByText('Approved', { exact: false }).first().waitFor()
  await sandbox.service.runLog.flush()
})
afterAll(async () => {
  await browser?.close()
  await sandbox?.close()
})

interface ToolResult {
  text: string
  /** The structured content of the result; undefined for an error. */
  structured: { data: { id: string } } | undefined
}

/**
 * Makes a run over MCP: a purchase, a refund, a second refund that the API refuses, a declined purchase, and a payment
 * that needs a person's approval.
 */
async function playRun(): Promise<typeof results> {
  const { apiKey, agentKey } = sandbox.credentials
  const headers = { Authorization: `Bearer ${agentKey}`, 'X-Instance-ID': instanceId }
  const url = new URL(`${sandbox.publicUrl()}/mcp`)
  const client = new Client({ name: 'Claude Code', version: '2.1' })
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  const call = async (name: string, args: object): Promise<ToolResult> => {
    const { structuredContent, content } = await client.callTool({ name, arguments: { ...args } })
    const [first] = content as { text: string }[]
    return { text: first?.text ?? '', structured: structuredContent as ToolResult['structured'] }
  }
  const card = await call('issue_agent_card', { merchant, maximumAmount: 6000, ...usd })
  const purchase = await call('simulate_card_authorization', { cardId: idOf(card), amount: 5480, merchant, ...usd })
  await call('simulate_card_capture', { cardTransactionId: idOf(purchase), amount: 5480, ...usd })
  await call('simulate_card_refund', { cardTransactionId: idOf(purchase), amount: 1200, ...usd })
  const refused = await call('simulate_card_refund', { cardTransactionId: idOf(purchase), amount: 9900, ...usd })
  const small = await call('issue_agent_card', { merchant, maximumAmount: 1000, ...usd })
  await call('simulate_card_authorization', { cardId: idOf(small), amount: 2750, merchant, ...usd })
  const { data } = await sandbox
    .fetch(new Request(`${sandbox.publicUrl()}/whoami`, { headers }))
    .then((answer) => answer.json() as Promise<{ data: { attributes: { agentId: string } } }>)
  const limitsAnswer = await sandbox.fetch(
    new Request(`${sandbox.publicUrl()}/agents/${data.attributes.agentId}`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'limits' },
      body: JSON.stringify({ data: { attributes: { limits: { perTransaction: 100 } } } }),
    }),
  )
  expect(limitsAnswer.status).toBe(200)
  await call('create_payment', { amount: 4200, counterparty: { type: 'email', value: 'host@example.com' } })
  await client.close()
  return { purchase, refused }
}

const idOf = ({ structured }: ToolResult) => String(structured?.data.id)

const collapseSpaces = (text: string) => text.replaceAll(/\s+/g, ' ')

/**
 * Opens the root address, clicks the given elements in order, and returns the text of the last page. Each locator must
 * match exactly one element, and the element must be visible.
 */
async function answerAfter(name: string, ...clicks: ((page: Page) => Locator)[]): Promise<string> {
  expect(clicks.length).toBeLessThanOrEqual(maxClicks)
  const page = await context.newPage()
  await page.goto(sandbox.publicUrl())
  for (const find of clicks) {
    await find(page).click()
    await page.waitForLoadState()
  }
  // An open entry has no content until the page's script has loaded the content.
  await page.locator('details[open] > [data-opened]:empty').waitFor({ state: 'detached' })
  const text: string = await page.evaluate('document.querySelector("main").innerText')
  await shoot(page, `newcomer-${name}`)
  await page.close()
  return collapseSpaces(text)
}

const main = (page: Page) => page.getByRole('main')
const toConsole = (page: Page) => main(page).getByRole('link', { name: 'Console', exact: true })
const toRun = (page: Page) => main(page).getByRole('link', { name: instanceId })
const toEntry = (text: string | RegExp) => (page: Page) => page.locator('.entry summary').filter({ hasText: text })

test('within three clicks, a newcomer sees what was bought', async () => {
  const text = await answerAfter('bought', toConsole, toRun)
  expect(text).toContain('Authorized $54.80 at Harbor Books')
  expect(text).toContain('Captured a purchase of $54.80 at Harbor Books')
})

test('within three clicks, a newcomer sees why a purchase was declined', async () => {
  const toFailure = (page: Page) => main(page).getByRole('link', { name: 'Authorized $27.50 at Harbor Books' })
  const text = await answerAfter('declined', toConsole, toFailure)
  expect(text).toContain("The amount is above the card's maximum.")
  expect(text).toContain('single_use_amount_over_maximum')
})

test('within three clicks, a newcomer sees where the money went', async () => {
  const toMoney = (page: Page) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Money' })
  const toWallet = (page: Page) => main(page).getByRole('link', { name: 'Main wallet' })
  const text = await answerAfter('money', toConsole, toMoney, toWallet)
  for (const entry of [
    /Reserved available -\$42\.00 [^$]+ host@example\.com/,
    /Refunded available \$12\.00 [^$]+ Harbor Books/,
    /Captured held -\$54\.80 [^$]+ Harbor Books/,
  ])
    expect(text).toMatch(entry)
})

test('within three clicks, a newcomer sees what the model saw', async () => {
  const toPurchase = toEntry('Authorized $54.80 at Harbor Books')
  const bought = await answerAfter('model', toConsole, toRun, toPurchase)
  const { text, structured } = results.purchase
  expect(bought).toContain(collapseSpaces(text))
  expect(bought).toContain(collapseSpaces(JSON.stringify(structured, null, 2)))

  const toRefusal = toEntry(/Refund a card purchase.*Refused/)
  const refused = await answerAfter('model-refused', toConsole, toRun, toRefusal)
  const [detail = '', error = '{}'] = results.refused.text.split('\n')
  expect(refused).toContain(collapseSpaces(`What the model saw ${detail}`))
  expect(refused).toContain(`Next step: ${JSON.parse(error).error.next}`)
})

test('within three clicks, a newcomer sees who approved the payment', async () => {
  const text = await answerAfter('approved', toConsole, toRun, toEntry(/Approved$/))
  expect(text).toContain('Send a payment of $42.00 to host@example.com')
  expect(text).toContain('Sandbox Owner (owner@sandbox.example) decided.')
})
