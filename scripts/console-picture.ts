/**
 * Takes the screenshot of the console that the README shows. Before that, an agent buys at two merchants over MCP in a
 * new sandbox, so that the console has calls to show. After changing how the console looks, take a new screenshot with
 * `npm run picture`.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Browser, chromium } from 'playwright-core'
import { createSandbox, type Sandbox } from '../src/testing/sandbox.ts'

const json = (key: string) => ({ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' })
const picture = fileURLToPath(new URL('../docs/console.webp', import.meta.url))

const sandbox = await createSandbox()
try {
  await shop(sandbox)
  await writeFile(picture, await shoot(sandbox.url))
} finally {
  await sandbox.close()
}

/** Makes calls with various outcomes: purchases, declines, a repeated call, a pending payment and an unknown payee. */
async function shop({ mcpUrl, keys, fetch }: Sandbox): Promise<void> {
  const client = new Client({ name: 'Claude Code', version: '2.1' })
  const headers = { Authorization: `Bearer ${keys.agent}`, 'X-Instance-ID': 'book-club-order' }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit: { headers } }))
  const call = async (name: string, args: object) => {
    const { structuredContent } = await client.callTool({ name, arguments: { ...args } })
    return (structuredContent as { data?: { id: string } } | undefined)?.data?.id ?? ''
  }
  const issue = (name: string, maximumAmount: number) =>
    call('issue_agent_card', { merchant: { name }, maximumAmount, currency: 'USD' })
  const authorize = (cardId: string, amount: number, name: string) =>
    call('simulate_card_authorization', { cardId, amount, currency: 'USD', merchant: { name } })
  const { partyId, agentId } = await whoami(fetch, keys.agent)
  const limits = {
    method: 'PATCH',
    body: JSON.stringify({ data: { attributes: { limits: { perTransaction: 20_000 } } } }),
  }
  await fetch(`/agents/${agentId}`, { ...limits, headers: { ...json(keys.api), 'Idempotency-Key': 'limits' } })
  await call('list_wallets', {})
  const books = await issue('Harbor Books', 6_000)
  const bought = await authorize(books, 5_480, 'Harbor Books')
  await call('simulate_card_capture', { cardTransactionId: bought, amount: 5_480, currency: 'USD' })
  await authorize(books, 5_480, 'Harbor Books')
  const snacks = await issue('Corner Bakery', 2_500)
  await issue('Corner Bakery', 2_500)
  await authorize(snacks, 2_750, 'Corner Bakery')
  await authorize(snacks, 2_350, 'Corner Bakery')
  await call('create_payment', {
    amount: 32_000,
    counterparty: { type: 'party_id', value: partyId.replace(/.$/, '0') },
  })
  await call('create_payment', { amount: 32_000, counterparty: { type: 'email', value: 'host@example.com' } })
  await call('simulate_card_refund', { cardTransactionId: bought, amount: 1_200, currency: 'USD' })
  await client.close()
}

async function whoami(fetch: Sandbox['fetch'], key: string) {
  const answer = await fetch('/whoami', { headers: json(key) })
  return ((await answer.json()) as { data: { attributes: { partyId: string; agentId: string } } }).data.attributes
}

async function shoot(url: string): Promise<Buffer> {
  await promisify(execFile)(fileURLToPath(new URL('./install-browser.sh', import.meta.url)))
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless', '--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: { width: 1040, height: 680 }, colorScheme: 'light' })
    await page.goto(`${url}/console`)
    await page.getByRole('button', { name: /Continue as/ }).click()
    await page.getByRole('link', { name: 'book-club-order' }).click()
    await page.locator('.entry summary').first().waitFor()
    return await toWebp(browser, await page.screenshot({ animations: 'disabled' }))
  } finally {
    await browser.close()
  }
}

/** Converts a PNG to WebP in the browser, which halves the size of the file. */
async function toWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage()
  const encoded = await page.evaluate<string>(`(async () => {
    const answer = await fetch('data:image/png;base64,${png.toString('base64')}')
    const bitmap = await createImageBitmap(await answer.blob())
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
    canvas.getContext('2d').drawImage(bitmap, 0, 0)
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.9 })
    return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())))
  })()`)
  return Buffer.from(encoded, 'base64')
}
