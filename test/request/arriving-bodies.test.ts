import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { catalogue } from '../../tools/index.ts'
import { type Served, serveWorld } from '../oauth/served.ts'
import { addKey } from '../support/world.ts'

/** Limits that are so low that a few bodies reach them. */
const bodyBounds = { each: 100_000, lookedUp: 200_000, unknownSenders: 150_000, all: 400_000 }

let served: Served
let keys: string[]
beforeAll(async () => {
  served = await serveWorld({ bodyBounds })
  const { partyId } = await served.world.whoami()
  keys = []
  for (let count = 0; count < 4; count++) {
    keys.push(await addKey(served.world, { partyId, agentId: null, scopes: ['cards.read'] }))
  }
})
afterAll(() => served.close())

let sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  await expectHeld(0)
})

const expectHeld = (bytes: number) => expect.poll(() => served.listener.bodies.held).toBe(bytes)

interface PartialRequest {
  key?: string | undefined
  /** The value of `Content-Length`. If it is `undefined`, the body is sent in chunks. */
  length?: number
  sent?: number
  headers?: string[]
}

/** Begins a request, but sends only part of its body. Returns what the server sent until the connection closed. */
function begin(path: string, { key, length, sent = 100, headers = [] }: PartialRequest): Promise<string> {
  const socket = connect(Number(new URL(served.url).port), '127.0.0.1')
  sockets.push(socket)
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    ...headers,
  ]
  const body = ' '.repeat(sent)
  socket.write(`${lines.join('\r\n')}\r\n\r\n${length === undefined ? `${sent.toString(16)}\r\n${body}\r\n` : body}`)
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (part) => {
      text += part
    })
    socket.on('error', () => {}).once('close', () => resolve(text))
  })
}

const mcp2026Headers = ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/list']

test.each([
  { entryPoint: 'REST', path: '/agent-cards', more: { length: 60_000 } },
  { entryPoint: 'REST, in chunks', path: '/agent-cards', more: { sent: 60_000 } },
  { entryPoint: 'MCP', path: '/mcp', more: { length: 60_000 } },
  { entryPoint: 'MCP, in chunks', path: '/mcp', more: { sent: 60_000 } },
  { entryPoint: 'MCP 2026', path: '/mcp', more: { length: 60_000, headers: mcp2026Headers } },
])(
  'the bytes that arrive at the same time from one credential are limited across all entry points: $entryPoint',
  async ({ path, more }) => {
    begin('/agent-cards', { key: keys[0], length: 60_000 })
    await expectHeld(60_000)
    const refused = await begin(path, { key: keys[0], ...more })
    expect(refused).toMatch(/^HTTP\/1\.1 429 /)
    expect(refused).toMatch(/^retry-after: 1\r$/im)
    expect(refused).toMatch(/^connection: close\r$/im)
    expect(refused).toContain('request bodies from this credential may arrive at the same time')
    // Each credential has its own limit.
    begin(path, { key: keys[1], ...more })
    await expectHeld(120_000)
  },
)

test('the bytes that arrive at the same time from all credentials together are limited', async () => {
  for (const key of keys) begin('/mcp', { key, length: 90_000 })
  await expectHeld(360_000)
  const refused = await begin('/mcp', { key: served.world.agentKey, length: 90_000 })
  expect(refused).toMatch(/^HTTP\/1\.1 503 /)
  expect(refused).toMatch(/^retry-after: 1\r$/im)
})

test('unauthenticated request bodies count against the limit of their IP address at every entry point, and do not block authenticated callers', async () => {
  const forgedKey = (at: number) => `sk_ntl_sandbox_made-up-key-number-${at}-0123456789`
  for (let at = 0; at < 3; at++) begin('/agent-cards', { key: forgedKey(at), length: 32_000 })
  await expectHeld(96_000)
  const operations = new Set(Object.values(catalogue).map(({ method, path }) => `${method} ${path}`))
  const isNonApi = ({ method, path }: { method: string; path: string }) =>
    method === 'POST' && !operations.has(`${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  const paths = served.world.service.routes.filter(isNonApi).map(({ path }) => path.replace(/:\w+(?:\{[^}]*\})?/g, 'x'))
  expect(paths.length).toBeGreaterThan(20)
  for (const path of new Set(paths)) {
    expect(await begin(path, { length: 8_000 }), path).toMatch(
      /^HTTP\/1\.1 429 .*from this address may arrive at the same time/s,
    )
    // These entry points read no credentials, so even a request with a credential counts against its IP address.
    expect(await begin(path, { key: forgedKey(9), length: 8_000 }), path).toMatch(/^HTTP\/1\.1 429 /)
  }
  expect(await begin('/agent-cards', { key: forgedKey(10), length: 8_000 })).toMatch(/^HTTP\/1\.1 401 /)

  const attributes = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
  const response = await fetch(`${served.url}/agent-cards`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${served.world.agentKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'authenticated',
      'X-Instance-ID': 'run',
    },
    body: `${JSON.stringify({ data: { attributes } })}${' '.repeat(8_000)}`,
  })
  expect(response.status, await response.text()).toBe(200)
})
