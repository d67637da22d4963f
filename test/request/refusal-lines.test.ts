import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Served, serveWorld } from '../oauth/served.ts'

let served: Served

beforeAll(async () => {
  served = await serveWorld()
})
afterAll(() => served.close())

const secret = 'Zk3'.repeat(12)

/** Sends a request, and checks that the log does not contain the secret. Returns the response and the refusal lines. */
async function sendAndReadLog(sendRequest: () => Promise<Response>) {
  const { logged } = served.world
  logged.length = 0
  const response = await sendRequest()
  await response.text()
  expect(logged.join('\n')).not.toContain(secret)
  const lines = logged.filter((line) => line.startsWith('refused ')).map((line) => JSON.parse(line.slice(8)))
  return { response, lines }
}

const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  sendAndReadLog(() =>
    fetch(served.url + path, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) }),
  )

const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

test.each([
  ['an unknown path', 'GET', '/nowhere', {}, 404, 'not_found', '/nowhere'],
  ['a method that the path does not accept', 'POST', '/llms.txt', {}, 404, 'not_found', '/llms.txt'],
  ['a page path with an unknown secret', 'GET', `/connect/${secret}`, {}, 404, 'not_found', '/connect/…'],
  [
    'a checkout path with an unknown secret',
    'GET',
    `/checkout/manage/${secret}`,
    {},
    404,
    'not_found',
    '/checkout/manage/…',
  ],
  ['invalid checkout data', 'POST', '/checkout/session', form, 400, 'invalid_value', '/checkout/session'],
  ['MCP without a credential', 'POST', '/mcp', {}, 401, 'unauthorized', '/mcp'],
  [
    'MCP with a wrong credential',
    'GET',
    '/mcp/x/all',
    { Authorization: `Bearer ${secret}` },
    401,
    'invalid_token',
    '/mcp/x/all',
  ],
  ['an incomplete token request', 'POST', '/oauth/token', form, 400, 'invalid_request', '/oauth/token'],
  [
    'a request from another site',
    'GET',
    '/whoami',
    { Origin: `https://${secret}.example` },
    403,
    'forbidden',
    '/whoami',
  ],
  ['an operation without a credential', 'GET', '/whoami', {}, 401, 'unauthenticated', '/whoami'],
])('a refused request leaves one line in the log: %s', async (_, method, path, headers, status, code, loggedPath) => {
  const { response, lines } = await send(method, path, headers)
  const supportId = response.headers.get('x-request-id')
  const fields = { supportId, status, code, method, path: loggedPath, ms: expect.any(Number) }
  expect(response.status).toBe(status)
  expect(lines).toEqual([expect.objectContaining(fields)])
})

test('a tool call with invalid arguments leaves one line in the log, without the arguments', async () => {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'create_payment',
      arguments: { amount: secret },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }
  const headers = {
    Authorization: `Bearer ${served.world.agentKey}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Mcp-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/call',
    'Mcp-Name': 'create_payment',
  }
  const { response, lines } = await send('POST', '/mcp', headers, JSON.stringify(message))
  expect(response.status).toBe(200)
  const fields = { operation: 'create_payment', status: 422, code: 'invalid_value', ms: expect.any(Number) }
  expect(lines).toEqual([fields])
})

test('a request body that is too long leaves one line in the log', async () => {
  const headers = { Authorization: `Bearer ${served.world.agentKey}`, 'Content-Type': 'application/json' }
  const { lines } = await send('POST', '/agent-cards', headers, ' '.repeat(1024 * 1024 + 1))
  expect(lines).toEqual([expect.objectContaining({ status: 400, code: 'invalid_value', path: '/agent-cards' })])
})

test('a successful request leaves no refusal line in the log', async () => {
  for (const path of ['/', '/docs', '/healthz', '/sign-in', '/decisions']) {
    expect((await send('GET', path)).lines).toEqual([])
  }
})

test.each(['/mcp/server-card', '/.well-known/ai-catalog.json'])(
  'a web page of any site may read %s, but may not post to it or reach the API, MCP or HTML pages',
  async (path) => {
    const foreign = { Origin: 'https://anywhere.example' }
    for (const method of ['GET', 'HEAD']) {
      const { response } = await send(method, path, foreign)
      expect(response.status).toBe(200)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
    }
    expect((await send('POST', path, foreign)).response.status).toBe(403)
    for (const other of ['/', '/whoami', '/openapi.json', '/mcp', '/mcp/server-card/', '/healthz']) {
      expect((await send('GET', other, foreign)).response.status).toBe(403)
    }
  },
)
