import { type ClientRequest, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { Pool } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { databases, sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const mebibyte = 1024 * 1024
const silent = { debug() {}, info() {}, warn() {}, error() {} }

let world: World
let listener: Listener
let port: number
beforeAll(async () => {
  let url = ''
  world = await createWorld(sqlite, { publicUrl: () => url })
  const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: line, info: line, warn: line, error: line }
  listener = await listen({ fetch: world.service.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
  url = listener.url
  port = Number(new URL(url).port)
})
afterAll(async () => {
  await listener.close()
  await world.drop()
})

/** Sends a request's headers and part of its body. Returns the unfinished request and a promise of its answer. */
function begin(method: string, path: string, headers: Record<string, string>, part = '', to = port) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined
    headers: Record<string, string | string[] | undefined>
    text: string
    closed: Promise<unknown>
  }>()
  const sent: ClientRequest = request({ port: to, method, path, headers, agent: false }, async (response) => {
    const closed = new Promise((settle) => response.socket.once('close', settle))
    let text = ''
    for await (const chunk of response) text += chunk
    resolve({ status: response.statusCode, headers: response.headers, text, closed })
  })
  sent.on('error', reject)
  sent.write(part)
  return { answer: promise, request: sent }
}

const card = { 'Content-Type': 'application/json', 'X-Instance-ID': 'run', 'Idempotency-Key': 'large' }

describe('request bodies', () => {
  test.each([
    ['with a declared length of 1 MiB', { 'Content-Length': String(mebibyte) }],
    ['sent in chunks', { 'Transfer-Encoding': 'chunked' }],
  ])('a body %s from an unknown caller is refused unread, and the connection is closed', async (_, length) => {
    const { answer } = begin('POST', '/agent-cards', { ...card, ...length, Authorization: 'Bearer nobody' }, '{')
    const { status, headers, closed } = await answer
    expect(status).toBe(401)
    expect(headers.connection).toBe('close')
    expect(headers['www-authenticate']).toContain('invalid_token')
    await closed
  })

  test('a request with a body over 1 MiB is authenticated and rate-limited like any other', async () => {
    const sent = { ...card, 'Content-Length': String(mebibyte + 1) }
    const nobody = await begin('POST', '/agent-cards', sent).answer
    expect([nobody.status, nobody.headers.connection]).toEqual([401, 'close'])
    const authorized = { ...sent, Authorization: `Bearer ${world.agentKey}` }
    const remainingAfterRefusal = async () => {
      const { status, headers } = await begin('POST', '/agent-cards', authorized).answer
      expect([status, headers.connection, headers['x-ratelimit-limit']]).toEqual([400, 'close', '1000000'])
      return Number(headers['x-ratelimit-remaining'])
    }
    expect(await remainingAfterRefusal()).toBe((await remainingAfterRefusal()) + 1)
  })

  test('a request with a body of 100 KB succeeds, and counts once against the rate limit', async () => {
    const before = Number((await world.get('/whoami')).headers.get('x-ratelimit-remaining'))
    const padding = ' '.repeat(100_000)
    const body = `{"data":{"attributes":{"merchant":{"name":"Books"},"maximumAmount":5000,"currency":"USD"}}}${padding}`
    const response = await fetch(`${listener.url}/agent-cards`, {
      method: 'POST',
      headers: { ...card, Authorization: `Bearer ${world.agentKey}` },
      body,
    })
    expect(response.status).toBe(200)
    expect(Number(response.headers.get('x-ratelimit-remaining'))).toBe(before - 1)
  })

  test('after a body is refused, the next request of the same client succeeds', async () => {
    const pool = new Pool(listener.url, { connections: 1, pipelining: 1 })
    for (let round = 0; round < 5; round++) {
      const refused = await pool.request({
        method: 'POST',
        path: '/agent-cards',
        headers: { ...card, Authorization: `Bearer ${world.agentKey}` },
        body: Buffer.alloc(2 * mebibyte),
      })
      expect(refused.statusCode).toBe(400)
      await refused.body.dump()
      const next = await pool.request({ method: 'GET', path: '/healthz' })
      expect(next.statusCode).toBe(200)
      await next.body.dump()
    }
    await pool.close()
  })

  test('a body whose sender disconnects is not logged as an error of the service', async () => {
    world.logged.length = 0
    const lines = () => world.logged.filter((line) => /"err"|stack/.test(line))
    for (const [path, type] of [
      ['/agent-cards', 'application/json'],
      ['/oauth/token', 'application/x-www-form-urlencoded'],
      ['/checkout/pay', 'application/json'],
    ] as const) {
      const socket = connect(port, '127.0.0.1')
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${world.agentKey}\r\n`
      socket.write(`${head}Content-Type: ${type}\r\nContent-Length: 1000\r\n\r\n{"data"`)
      await expect.poll(() => awaitConnections()).toBeGreaterThan(0)
      socket.destroy()
      await new Promise((resolve) => socket.once('close', resolve))
    }
    // Gives the server time to notice that the senders disconnected.
    await fetch(`${listener.url}/healthz`)
    await expect.poll(() => world.logged.filter((line) => /left|refused/.test(line)).length).toBeGreaterThan(1)
    expect(lines()).toEqual([])
  })
})

/** Makes a request on a new connection. Once it is answered, the server has accepted all earlier connections. */
async function awaitConnections(): Promise<number> {
  const { status } = await fetch(`${listener.url}/healthz`)
  return status
}

describe('response headers', () => {
  test.each(['/.well-known/oauth-authorization-server', '/oauth/jwks', '/healthz', '/openapi.json'])(
    'the connection to %s is closed if the request asks for it',
    async (path) => {
      const socket: Socket = connect(port, '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      let received = ''
      for await (const part of socket) received += part
      const [head = ''] = received.split('\r\n\r\n')
      expect(head).toMatch(/^connection: close$/im)
      expect(head).not.toMatch(/keep-alive/i)
    },
  )

  test('every answer has a request id, which an error repeats as its support id', async () => {
    const paths = ['/healthz', '/openapi.json', '/oauth/jwks', '/whoami', '/nowhere', '/console', '/checkout/x']
    for (const path of paths) {
      const response = await fetch(`${listener.url}${path}`, { redirect: 'manual' })
      const id = response.headers.get('x-request-id')
      expect(id, path).toMatch(/^req_[0-9a-f]{32}$/)
      const text = await response.text()
      if (text.startsWith('{"errors"')) expect(JSON.parse(text).errors[0].meta.supportId).toBe(id)
    }
  })
})

describe('closing connections', () => {
  test.each([
    ['a client sends only half a body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf'],
    ['an answer never ends', 'GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ])('the listener closes within a limited time even if %s', async (_, sent) => {
    const reached = Promise.withResolvers<void>()
    const open = await listen({
      fetch: async (request) => {
        reached.resolve()
        if (request.url.endsWith('/long'))
          return new Response(new ReadableStream({ start: (to) => to.enqueue(new TextEncoder().encode('a')) }))
        return new Response(await request.text())
      },
      host: '127.0.0.1',
      port: 0,
      closeWithinMs: 20,
      system: realSystem,
      log: silent,
    })
    const socket = connect(Number(new URL(open.url).port), '127.0.0.1')
    const ended = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
    socket.write(sent)
    await reached.promise
    await open.close()
    socket.resume()
    await ended
  })

  test('a connection beyond the maximum number is closed at once', async () => {
    const options = { fetch: async () => new Response('served'), host: '127.0.0.1', port: 0, maxConnections: 1 }
    const full = await listen({ ...options, system: realSystem, log: silent })
    const to = Number(new URL(full.url).port)
    const first = connect(to, '127.0.0.1')
    first.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await new Promise((resolve) => first.once('data', resolve))
    const second = connect(to, '127.0.0.1')
    let received = ''
    second.on('data', (part) => {
      received += part
    })
    await new Promise((resolve) => second.on('error', resolve).once('close', resolve))
    expect(received).toBe('')
    first.destroy()
    await full.close()
  })
})

describe('the OpenAPI document over HTTP', () => {
  test('the OpenAPI document has an ETag, and is compressed for clients that accept gzip', async () => {
    const first = await fetch(`${listener.url}/openapi.json`, { headers: { 'Accept-Encoding': 'identity' } })
    const text = await first.text()
    expect(JSON.parse(text).servers).toMatchObject([{ url: listener.url }])
    const etag = String(first.headers.get('etag'))
    const again = await fetch(`${listener.url}/openapi.json`, { headers: { 'If-None-Match': `"other", ${etag}` } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
    const other = await fetch(`${listener.url}/openapi.json`, { headers: { 'If-None-Match': '"other"' } })
    expect(other.status).toBe(200)
    expect(await other.text()).toBe(text)
    const compressed = await sendRaw('/openapi.json', { 'Accept-Encoding': 'br, gzip;q=0.5' })
    expect(compressed.headers['content-encoding']).toBe('gzip')
    expect(compressed.headers.vary).toBe('Accept-Encoding')
    expect(compressed.body.byteLength).toBeLessThan(text.length / 4)
    expect(gunzipSync(compressed.body).toString()).toBe(text)
    expect(
      (await sendRaw('/openapi.json', { 'Accept-Encoding': 'gzip;q=0' })).headers['content-encoding'],
    ).toBeUndefined()
  })
})

function sendRaw(path: string, headers: Record<string, string>) {
  return new Promise<{ headers: Record<string, string | string[] | undefined>; body: Buffer }>((resolve, reject) => {
    request({ port, path, headers, agent: false }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      resolve({ headers: response.headers, body: Buffer.concat(chunks) })
    })
      .on('error', reject)
      .end()
  })
}

test.each(databases)(
  'on $name, requests to unknown routes count against the rate limit if their credential is valid',
  async (database) => {
    const small = await createWorld(database, { rateLimit: 2 })
    const answers = [await small.get('/nowhere'), await small.get('/nowhere'), await small.get('/nowhere')]
    expect(answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining')])).toEqual([
      [404, '1'],
      [404, '0'],
      [429, '0'],
    ])
    const nobody = await small.get('/nowhere', { key: 'nobody' })
    expect([nobody.status, nobody.headers.get('x-ratelimit-limit')]).toEqual([404, null])
    await small.drop()
  },
)
