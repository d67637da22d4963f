import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  allEvents,
  createHosting,
  eventsOf,
  type Hosting,
  initializeMessage,
  jsonOf,
  modernRequest,
  rawHost,
  resultOf,
} from './hosting.ts'
import { gate } from './test-server.ts'

const limits = {
  bodyBytes: 10_000,
  streamsPerSession: 2,
  runningPerSession: 3,
  unreadBytes: 50_000,
  eventsPerStream: 5,
}
let hosting: Hosting
beforeEach(async () => {
  hosting = await createHosting({ limits })
})
afterEach(() => hosting.close())

async function openSession() {
  const host = rawHost(hosting.url)
  await host.initialize()
  return host
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } }

test.each([
  ['a body that is not JSON', '{', {}, 400, -32700],
  ['JSON that is not JSON-RPC', { hello: 1 }, {}, 400, -32600],
  ['an invalid JSON-RPC id', { ...call, id: {} }, {}, 400, -32600],
  ['a batch of messages', [call], {}, 400, -32600],
  ['a content type other than JSON', call, { 'Content-Type': 'text/plain' }, 415, -32000],
  ['an Accept header without JSON', call, { Accept: 'text/event-stream' }, 406, -32000],
  ['an unknown protocol version', call, { 'Mcp-Protocol-Version': '1999-01-01' }, 400, -32000],
  ['a tool call without a session id', call, { 'Mcp-Session-Id': undefined }, 400, -32000],
  ['a body that is too large', { ...call, params: { name: 'x'.repeat(10_000) } }, {}, 413, -32000],
])('%s is refused, and the session remains usable', async (_, body, headers, status, code) => {
  const host = await openSession()
  const response = await host.post(body, headers)
  expect(response.status).toBe(status)
  expect((await jsonOf(response)).error.code).toBe(code)
  expect((await host.call(2, 'echo')).status).toBe(200)
})

test('a body without a Content-Length header is refused once it exceeds the size limit', async () => {
  const host = await openSession()
  const chunk = new TextEncoder().encode(' '.repeat(4_000))
  let sent = 0
  const body = new ReadableStream({
    pull: (controller) => {
      sent += 1
      if (sent > 100) controller.close()
      else controller.enqueue(chunk)
    },
  })
  const headers = {
    Authorization: 'Bearer token-of-alice',
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Mcp-Session-Id': host.sessionId(),
  }
  const response = await fetch(hosting.url, { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
  expect(response.status).toBe(413)
})

test.each(['PUT', 'PATCH', 'OPTIONS'])('the method %s is refused', async (method) => {
  const response = await rawHost(hosting.url).send(method)
  expect(response.status).toBe(405)
  expect(response.headers.get('allow')).toBe('GET, POST, DELETE')
})

test('GET and DELETE requests without a session id are refused', async () => {
  for (const method of ['GET', 'DELETE']) expect((await rawHost(hosting.url).send(method)).status).toBe(405)
})

test('if a principal opens too many sessions, the least recently used session and its streams end', async () => {
  await hosting.close()
  hosting = await createHosting({ limits: { sessionsPerPrincipal: 2 } })
  const first = await openSession()
  const listening = await first.send('GET')
  await openSession()
  await openSession()
  expect(await allEvents(listening)).toHaveLength(1)
  expect((await first.call(1, 'echo')).status).toBe(404)
})

test('an initialize request that is too large to store is refused', async () => {
  await hosting.close()
  hosting = await createHosting()
  const clientInfo = { name: 'x'.repeat(40_000), version: '1' }
  const response = await rawHost(hosting.url).post(initializeMessage({ clientInfo }))
  expect(response.status).toBe(400)
  expect(response.headers.get('mcp-session-id')).toBeNull()
})

describe('limits of a session', () => {
  test('a stream above the limit on open streams is refused until another stream closes', async () => {
    const host = await openSession()
    const open = [await host.send('GET'), await host.send('GET')]
    const refused = await host.send('GET')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('5')
    await open[0]?.body?.cancel()
    await expect
      .poll(async () => {
        const again = await host.send('GET')
        if (again.status === 200) await again.body?.cancel()
        return again.status
      })
      .toBe(200)
    await open[1]?.body?.cancel()
  })

  test('a call above the limit on running requests is refused until another call ends', async () => {
    const host = await openSession()
    const running = [1, 2, 3].map((id) => host.call(id, 'wait', { marker: id, wait: 'bound' }))
    await expect.poll(async () => (await host.call(4, 'echo')).status).toBe(429)
    // Notifications are not limited, so the host can cancel a call to make room.
    const note = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    expect((await host.post(note)).status).toBe(202)
    expect((await host.call(4, 'echo')).status).toBe(200)
    gate('bound').resolve()
    await Promise.all(running)
  })

  test('only the latest events of a stream are stored for resumption', async () => {
    const host = await openSession()
    const params = { _meta: { progressToken: 1 } }
    const events = eventsOf(await host.call(1, 'progress', { steps: 20, marker: 'm' }, params))
    const { id } = (await events.next()).value
    for await (const _ of events);
    const resumed = eventsOf(await host.send('GET', undefined, { 'Last-Event-ID': String(id) }))
    const steps: unknown[] = []
    for await (const { message } of resumed) steps.push(message.params?.progress ?? resultOf(message))
    expect(steps).toEqual([17, 18, 19, 20, 'm'])
  })
})

test('a resumed stream sends all stored events, even if they exceed the limit on unread bytes', async () => {
  const host = await openSession()
  const args = { characters: 30_000, steps: 5, wait: 'paced' }
  const events = eventsOf(await host.call(1, 'flood', args))
  const { id } = (await events.next()).value
  await events.return(undefined)
  const resumed = eventsOf(await host.send('GET', undefined, { 'Last-Event-ID': String(id) }))
  const steps: unknown[] = []
  for (let step = 0; step < 5; step++) steps.push((await resumed.next()).value?.message.params.progress)
  expect(steps).toEqual([0, 1, 2, 3, 4])
  gate('paced').resolve()
  expect((await resumed.next()).value.message.id).toBe(1)
})

/** Sends a request, and does not read the response until the test calls `readAll`. */
function sendWithoutReading(body: object, headers: Record<string, string>) {
  const { hostname, port, host } = new URL(hosting.url)
  const text = JSON.stringify(body)
  const lines = [
    'POST /mcp HTTP/1.1',
    `Host: ${host}`,
    'Authorization: Bearer token-of-alice',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(text)}`,
  ]
  const socket = connect(Number(port), hostname)
  socket.setEncoding('utf8').pause()
  socket.write(`${lines.join('\r\n')}\r\n\r\n${text}`)
  return {
    readAll: async () => {
      let received = ''
      for await (const part of socket) received += part
      return received
    },
  }
}

const flood = { name: 'flood', arguments: { characters: 100_000, steps: 300, opens: 'flooded' } }

test('a host that does not read a response is disconnected, delays no other call, and can resume', async () => {
  const host = await openSession()
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: flood }
  const headers = { 'Mcp-Session-Id': host.sessionId(), 'Mcp-Protocol-Version': '2025-11-25' }
  const stalled = sendWithoutReading(message, headers)
  // The call ends although the host does not read its response. While it is unread, a second call is answered.
  await gate('flooded').promise
  expect((await host.call(2, 'connection')).status).toBe(200)
  await expect.poll(() => hosting.endpoint.load().streams).toBe(0)
  const received = await stalled.readAll()
  expect(received).not.toContain('flooded')
  const lastId = [...received.matchAll(/^id: (.*)$/gm)].at(-1)?.[1]
  const resumed = await allEvents(await host.send('GET', undefined, { 'Last-Event-ID': String(lastId) }))
  expect(resultOf(resumed.at(-1)?.message)).toBe('flooded')
})

test('an MCP 2026 host that does not read a response is disconnected, and delays no other host', async () => {
  const { body, headers } = modernRequest('tools/call', flood, { _meta: { progressToken: 1 } })
  const stalled = sendWithoutReading(body, headers)
  const host = await openSession()
  expect(resultOf(await jsonOf(await host.call(1, 'echo', { marker: 'served' })))).toBe('served')
  expect(await stalled.readAll()).not.toContain('flooded')
})
