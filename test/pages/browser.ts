import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type FrameLocator,
  type Locator,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { sqlite, type TestDatabase } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { createWorld, type World } from '../support/world.ts'

const browserStartMs = 300_000

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The time limit for each wait. It is shorter than a test's own timeout, so that the error says which wait failed. */
const longestWaitMs = 120_000

/** A test file's access to the browser that all test files of a worker share. */
export interface TestBrowser {
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** Closes the contexts that the test file opened, but not the shared browser. */
  close(): Promise<void>
}

/** The browser that all test files of this worker share. It ends when the worker ends. */
let shared: Promise<Browser> | undefined

export async function startBrowser(): Promise<TestBrowser> {
  shared ??= launch()
  const browser = await shared
  const contexts: BrowserContext[] = []
  return {
    newContext: async (options) => {
      const context = await browser.newContext(options)
      context.setDefaultTimeout(longestWaitMs)
      contexts.push(context)
      return context
    },
    close: async () => {
      for (const context of contexts) await context.close()
    },
  }
}

async function launch(): Promise<Browser> {
  await promisify(execFile)(fileURLToPath(new URL('../../scripts/install-browser.sh', import.meta.url)))
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: flags, timeout: browserStartMs })
}

/** Waits until the element has the focus. A browser sets the focus only after it has drawn the page. */
export async function expectFocus(element: Locator): Promise<void> {
  await expect.poll(() => element.evaluate((it) => it.matches(':focus'))).toBe(true)
}

/** Moves the focus past the navigation bar to the page's content. */
export const toContent = (page: Page) => page.locator('main').focus()

/** Waits until a page with this heading is loaded. */
export async function arrive(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { name: heading }).waitFor()
  await page.waitForLoadState()
}

/** Saves a screenshot of the page in the folder PAGES_SHOTS. Does nothing if this environment variable is not set. */
export async function shoot(page: Page, name: string): Promise<void> {
  const shots = process.env.PAGES_SHOTS
  if (shots !== undefined) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true })
}

/** A request that the browser sent. */
export interface SentRequest {
  method: string
  url: string
  body: string
  headers: Record<string, string>
}

/** A browser tab, with the requests and problems recorded in it. */
export interface Tab {
  page: Page
  /** The frame with the card form. */
  form: FrameLocator
  sent: SentRequest[]
  /** The unexpected errors and warnings from the page and its frames, including Content-Security-Policy violations. */
  complaints: string[]
}

export interface Site {
  world: World
  listener: Listener
  /** Creates a subscription that the seeded organization sells. `url` is the address of the subscription's checkout. */
  subscribe(attributes?: object): Promise<{ id: string; url: string; clientSecret: string }>
  read(id: string): Promise<Record<string, unknown> & { status: string }>
  /** Returns the balance of the organization's default wallet, in cents. */
  balance(): Promise<number>
  close(): Promise<void>
}

export const monthly = {
  description: 'Gym membership',
  every: { unit: 'month', count: 1 },
  amount: 2000,
  taxAmount: 150,
}

/** Creates a world, and starts its service on a free port. */
export async function startSite(database: TestDatabase = sqlite): Promise<Site> {
  const world = await createWorld(database)
  const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: line, info: line, warn: line, error: line }
  // The port is chosen in advance, so that a restarted service can use it again.
  const listener = await listen({
    fetch: world.service.fetch,
    host: '127.0.0.1',
    port: await freePort(),
    system: realSystem,
    log,
  })
  return {
    world,
    listener,
    subscribe: async (attributes = {}) => {
      const { json, status, text } = await world.post('/subscriptions', { ...monthly, ...attributes })
      if (status !== 200) throw new Error(text)
      const { checkoutUrl, clientSecret } = json.data.attributes
      return { id: json.data.id, url: listener.url + new URL(checkoutUrl).pathname, clientSecret }
    },
    read: async (id) => (await world.get(`/subscriptions/${id}`)).json.data.attributes,
    balance: async () => (await world.get('/wallets')).json.data[0].attributes.balance.total,
    close: async () => {
      await listener.close()
      await world.drop()
    },
  }
}

export async function openTab(context: BrowserContext, url: string): Promise<Tab> {
  const page = await context.newPage()
  const tab: Tab = { page, form: page.frameLocator('iframe'), sent: [], complaints: [] }
  page.on('console', (message) => {
    // The browser logs responses with these statuses as errors, but tests expect them and check the text of the page.
    if (/ status of 4(04|09|22) /.test(message.text())) return
    if (['error', 'warning'].includes(message.type())) tab.complaints.push(message.text())
  })
  page.on('pageerror', (error) => tab.complaints.push(String(error)))
  page.on('request', (request) =>
    tab.sent.push({
      method: request.method(),
      url: request.url(),
      body: request.postData() ?? '',
      headers: request.headers(),
    }),
  )
  await page.goto(url)
  return tab
}
