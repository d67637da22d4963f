import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { catalogue } from '../../tools/index.ts'
import { type Served, serveWorld } from '../oauth/served.ts'
import { addKey } from '../support/world.ts'

/** Limits that a few bodies reach. */
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
  await held(0)
})

const held = (bytes: number) => expect.poll(() => served.listener.bodies.held).toBe(bytes)

interface Half {
  key?: string | undefined
  /** The announced length; `undefined` sends the body in chunks. */
  length?: number
  sent?: number
  headers?: string[]
}

/** Begins a request, and sends only part of its body. Resolves to the server's answer, if there is one. */
function begin(path: string, { key, length, sent = 100, headers = [] }: Half): Promise<string> {
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

const modern = ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/list']

test.each([
  { door: 'REST', path: '/agent-cards', more: { length: 60_000 } },
  { door: 'REST, in chunks', path: '/agent-cards', more: { sent: 60_000 } },
  { door: 'MCP', path: '/mcp', more: { length: 60_000 } },
  { door: 'MCP, in chunks', path: '/mcp', more: { sent: 60_000 } },
  { door: 'MCP of 2026', path: '/mcp', more: { length: 60_000, headers: modern } },
])(
  "a credential's simultaneously arriving bytes are limited across all entry points: $door",
  async ({ path, more }) => {
    begin('/agent-cards', { key: keys[0], length: 60_000 })
    await held(60_000)
    const refused = await begin(path, { key: keys[0], ...more })
    expect(refused).toMatch(/^HTTP\/1\.1 429 /)
    expect(refused).toMatch(/^retry-after: 1\r$/im)
    expect(refused).toMatch(/^connection: close\r$/im)
    expect(refused).toContain('request bodies from this credential may arrive at the same time')
    // Another credential has its own share.
    begin(path, { key: keys[1], ...more })
    await held(120_000)
  },
)

test("all credentials' arriving bytes are limited together", async () => {
  for (const key of keys) begin('/mcp', { key, length: 90_000 })
  await held(360_000)
  const refused = await begin('/mcp', { key: served.world.agentKey, length: 90_000 })
  expect(refused).toMatch(/^HTTP\/1\.1 503 /)
  expect(refused).toMatch(/^retry-after: 1\r$/im)
})

test('unauthenticated bodies use the share of their IP address at every entry point, and do not block authenticated callers', async () => {
  const forgedKey = (at: number) => `sk_ntl_sandbox_made-up-key-number-${at}-0123456789`
  for (let at = 0; at < 3; at++) begin('/agent-cards', { key: forgedKey(at), length: 32_000 })
  await held(96_000)
  const operations = new Set(Object.values(catalogue).map(({ method, path }) => `${method} ${path}`))
  const isPage = ({ method, path }: { method: string; path: string }) =>
    method === 'POST' && !operations.has(`${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  const doors = served.world.service.routes.filter(isPage).map(({ path }) => path.replace(/:\w+(?:\{[^}]*\})?/g, 'x'))
  expect(doors.length).toBeGreaterThan(20)
  for (const path of new Set(doors)) {
    expect(await begin(path, { length: 8_000 }), path).toMatch(
      /^HTTP\/1\.1 429 .*from this address may arrive at the same time/s,
    )
    // This entry point reads no credential, so even a request with a credential uses the share of its address.
    expect(await begin(path, { key: forgedKey(9), length: 8_000 }), path).toMatch(/^HTTP\/1\.1 429 /)
  }
  expect(await begin('/agent-cards', { key: forgedKey(10), length: 8_000 })).toMatch(/^HTTP\/1\.1 401 /)

  const attributes = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
  const response = await fetch(`${served.url}/agent-cards`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${served.world.agentKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'a known one',
      'X-Instance-ID': 'run',
    },
    body: `${JSON.stringify({ data: { attributes } })}${' '.repeat(8_000)}`,
  })
  expect(response.status, await response.text()).toBe(200)
})
