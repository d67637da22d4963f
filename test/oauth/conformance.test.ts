import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { sqlite } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { freePort } from '../support/free-port.ts'
import { createWorld, type World } from '../support/world.ts'
import { consent } from './application.ts'
import { address, openBrowser } from './browser.ts'

const conformanceTool = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
)

describe('the official MCP conformance tests for authorization servers', () => {
  let world: World
  let listener: Listener

  beforeAll(async () => {
    const system = dateSystem()
    world = await createWorld(sqlite, { system, publicUrl: () => listener.url, clientMetadata: 'on' })
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    listener = await listen({ fetch: world.service.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
  })
  afterAll(async () => {
    await listener.close()
    await world.drop()
  })

  /** Runs the conformance tool, and passes each line that it prints to `onLine`. Returns its exit code and output. */
  const run = async (options: string[], onLine: (line: string) => void = () => {}) => {
    const child = spawn(process.execPath, [conformanceTool, 'authorization', '--url', listener.url, ...options])
    const printed: string[] = []
    const take = (line: string) => {
      printed.push(line)
      onLine(line)
    }
    createInterface({ input: child.stdout }).on('line', take)
    createInterface({ input: child.stderr }).on('line', take)
    const timer = setTimeout(() => child.kill(), 240_000)
    const code = await new Promise((resolve) => child.once('close', resolve))
    clearTimeout(timer)
    return { code, text: printed.join('\n') }
  }

  test("the authorization server's metadata passes", async () => {
    const { code, text } = await run(['--scenario', 'authorization-server-metadata-endpoint'])
    expect(text).toContain('Passed: 2/2, 0 failed, 0 warnings')
    expect(code).toBe(0)
  })

  test('the whole authorization code flow passes if a person consents in a browser', async () => {
    const registered = await fetch(`${listener.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'Conformance', redirect_uris: ['http://127.0.0.1/callback'] }),
    })
    const { client_id } = (await registered.json()) as { client_id: string }
    const port = await freePort()
    const options = ['--client-id', client_id, '--resource', `${listener.url}/mcp`, '--port', String(port)]
    let finished: Promise<unknown> | undefined
    const { code, text } = await run(options, (line) => {
      if (line.startsWith(`${listener.url}/oauth/authorize?`)) finished = consentAt(line)
    })
    await finished
    expect(text).toContain('authorization-code-grant: 1 passed, 0 failed')
    expect(text).toContain('Total: 3 passed, 0 failed')
    expect(code).toBe(0)
  })

  /** Consents as a person, and then opens the URL of the redirect, at which the conformance tool waits for the code. */
  const consentAt = async (url: string) => {
    const browser = openBrowser({ service: { ...world.service, fetch: fetchFromListener } })
    const back = await consent(browser, url.replace(listener.url, address))
    // The tool prints the authorization URL before it listens at the redirect URL, so early attempts may fail.
    await vi.waitFor(() => fetch(back.url), { timeout: 60_000 })
  }

  /**
   * Sends a request of the test browser to the listener. The browser uses the base URL `address`, not the listener's.
   */
  const fetchFromListener = async (request: Request) => {
    const headers = new Headers(request.headers)
    if (headers.has('origin')) headers.set('origin', listener.url)
    const { method } = request
    const body = method === 'POST' ? await request.text() : null
    const url = request.url.replace(address, listener.url)
    const response = await fetch(url, { method, headers, body, redirect: 'manual' })
    const responseHeaders = new Headers(response.headers)
    const location = responseHeaders.get('location')
    if (location !== null) responseHeaders.set('location', location.replace(listener.url, address))
    return new Response(response.body, { status: response.status, headers: responseHeaders })
  }
})
