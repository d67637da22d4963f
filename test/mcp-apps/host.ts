import { fileURLToPath } from 'node:url'
import type { JSONRPCMessage, Server, Transport } from '@modelcontextprotocol/server'
import { build } from 'esbuild'
import type { BrowserContext, FrameLocator, Page } from 'playwright-core'
import { createClient } from '../../src/client/client.ts'
import type { Environment } from '../../src/core/operation.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { appResources, toolUiMeta } from '../../src/mcp/ui/apps.ts'
import type { ToolResult } from '../mcp/hosts.ts'
import type { TestBrowser } from '../pages/browser.ts'
import { serverOptions } from '../support/server-options.ts'
import type { World } from '../support/world.ts'

/**
 * The Content-Security-Policy of views, at least as strict as the default of MCP Apps. A view can load only its own
 * document.
 */
const viewPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'"

const hostUrl = 'http://host.test/'
const viewUrl = 'http://view.test/'

export interface HostOptions {
  /** The key with which the MCP server calls the service; by default the key of the seeded agent. */
  key?: string
  environment?: Environment
  colorScheme?: 'light' | 'dark'
  /** Returns the person's answer to the server's question. Without this function, the server asks no questions. */
  answer?: (question: Question) => { action: 'accept' | 'decline'; content?: object }
  /** Sends the MCP server's requests to the service; by default the service's own `fetch`. */
  fetch?: (request: Request) => Promise<Response>
}

export interface Question {
  message: string
  requestedSchema?: { properties: Record<string, unknown> }
}

interface UseOptions {
  context?: object
  capabilities?: object
}

/** A host in a browser tab. Its MCP client is connected to the real MCP server, which calls the world's service. */
export interface TestHost {
  page: Page
  view: FrameLocator
  /** Calls a tool and shows its view. */
  use(name: string, input: object, options?: UseOptions): Promise<ToolResult>
  /** Calls a method of `window.host` in the page (host-page.js). */
  callHost(
    method: 'callToolForView' | 'sendResult' | 'sendCancel' | 'setContext' | 'endView',
    ...values: unknown[]
  ): Promise<unknown>
  /** The tool calls that reached the server, both from the view and from the host itself. */
  calls: { name: string; arguments: Record<string, unknown> }[]
  /** The URLs that the browser requested, except the URLs of the host's page and of the views. */
  strayRequests: string[]
  /** Console errors and warnings (such as violations of the Content-Security-Policy), uncaught errors, and dialogs. */
  complaints: string[]
  close(): Promise<void>
}

let script: Promise<string> | undefined

export async function openHost(browser: TestBrowser, world: World, options: HostOptions = {}): Promise<TestHost> {
  script ??= hostScript()
  const context = await browser.newContext({
    colorScheme: options.colorScheme ?? 'light',
    viewport: { width: 760, height: 900 },
  })
  const page = await context.newPage()
  const { strayRequests, complaints } = watchPage(page)
  // The page's clock runs at its normal speed, but tests can also advance it.
  await page.clock.install()
  await serveDocuments(context, page, strayRequests)
  const calls: TestHost['calls'] = []
  const server = createServer(world, options)
  await server.connect(await createTransport(page, calls))
  await page.exposeFunction('askPerson', options.answer ?? (() => ({ action: 'cancel' })))
  await page.goto(hostUrl)
  await page.addScriptTag({ content: await script })
  await page.evaluate('host.connect()')
  return {
    page,
    view: page.frameLocator('iframe'),
    use: (name, input, more = {}) => page.evaluate(`host.use(...${JSON.stringify([name, input, more])})`),
    callHost: (method, ...values) => page.evaluate(`host.${method}(...${JSON.stringify(values)})`),
    calls,
    strayRequests,
    complaints,
    close: async () => {
      await context.close()
      await server.close()
    },
  }
}

async function hostScript(): Promise<string> {
  const built = await build({
    entryPoints: [fileURLToPath(new URL('./host-page.js', import.meta.url))],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    logLevel: 'error',
  })
  return built.outputFiles[0]?.text ?? ''
}

function watchPage(page: Page) {
  const strayRequests: string[] = []
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('dialog', (dialog) => {
    complaints.push(dialog.message())
    dialog.dismiss()
  })
  return { strayRequests, complaints }
}

/**
 * Serves the host's page, and each view at its own URL with the Content-Security-Policy `viewPolicy`. Aborts all other
 * requests, and records their URLs.
 */
async function serveDocuments(context: BrowserContext, page: Page, strayRequests: string[]): Promise<void> {
  const documents: string[] = []
  await page.exposeFunction('serveView', (html: string) => `${viewUrl}${documents.push(html) - 1}`)
  await context.route('**/*', async (route) => {
    const url = route.request().url()
    const body =
      url === hostUrl
        ? '<!doctype html><html lang="en"><title>Host</title><style>iframe{width:100%;border:0}</style><main></main>'
        : documents[Number(url.startsWith(viewUrl) ? url.slice(viewUrl.length) : Number.NaN)]
    if (body === undefined) {
      strayRequests.push(url)
      return route.abort()
    }
    const headers = url === hostUrl ? {} : { 'Content-Security-Policy': viewPolicy }
    await route.fulfill({ body, contentType: 'text/html; charset=utf-8', headers })
  })
}

function createServer(
  world: World,
  { key = world.agentKey, environment = 'sandbox', ...options }: HostOptions,
): Server {
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const client = createClient({
    baseUrl: 'http://sandbox.test',
    fetch: options.fetch ?? world.service.fetch,
    credential: () => key,
    instanceId: 'run-apps',
    system: world.system,
    log,
  })
  return createMcpServer(
    serverOptions({
      client: async () => client,
      environment,
      log,
      system: world.system,
      confirm: { mode: options.answer === undefined ? 'never' : 'always', aboveCents: 0 },
      ui: { toolMeta: toolUiMeta, resources: appResources(environment) },
    }),
  )
}

/** Creates the server's transport to the client in the page, and records the tool calls that it receives. */
async function createTransport(page: Page, calls: TestHost['calls']): Promise<Transport> {
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    // Messages to a closed page are dropped.
    send: async (message) => {
      if (!page.isClosed()) await page.evaluate(`fromServer(${JSON.stringify(JSON.stringify(message))})`)
    },
  }
  await page.exposeFunction('toServer', (text: string) => {
    const message = JSON.parse(text) as JSONRPCMessage
    if ('method' in message && message.method === 'tools/call') calls.push(message.params as TestHost['calls'][number])
    transport.onmessage?.(message)
  })
  return transport
}
