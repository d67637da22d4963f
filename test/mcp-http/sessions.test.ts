import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { sha256 } from '../../src/core/system.ts'
import { createMcpSessions } from '../../src/service/store/mcp-sessions.ts'
import { sqlite } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import {
  allEvents,
  createHosting,
  eventsOf,
  type Hosting,
  jsonOf,
  modernRequest,
  principal,
  rawHost,
  resultOf,
} from './hosting.ts'
import { cancelled, gate } from './test-server.ts'

let hosting: Hosting
beforeEach(async () => {
  hosting = await createHosting()
})
afterEach(() => hosting.close())

async function openSession(credential?: string) {
  const host = rawHost(hosting.url, credential)
  expect((await host.initialize()).status).toBe(200)
  return host
}

describe('a session', () => {
  test('initialize begins a session and returns its id of 256 random bits', async () => {
    const host = rawHost(hosting.url)
    const response = await host.initialize()
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('mcp-session-id')).toMatch(/^[\w-]{43}$/)
    expect(await jsonOf(response)).toMatchObject({ id: 'init', result: { protocolVersion: '2025-11-25' } })
  })

  test.each(['2025-06-18', '2025-03-26', '2024-11-05'])('MCP %s is supported', async (protocolVersion) => {
    const host = rawHost(hosting.url)
    const response = await host.initialize({ protocolVersion })
    expect((await jsonOf(response)).result.protocolVersion).toBe(protocolVersion)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { marker: 'm' } } }
    const answer = await host.post(call, { 'Mcp-Protocol-Version': protocolVersion })
    expect(resultOf(await jsonOf(answer))).toBe('m')
  })

  test('a call is answered as JSON if the server sends no message before the answer', async () => {
    const host = await openSession()
    const response = await host.call(7, 'echo', { marker: 'only' })
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await jsonOf(response)).toMatchObject({ jsonrpc: '2.0', id: 7 })
  })

  test('a call is answered with an event stream if the server reports progress first', async () => {
    const host = await openSession()
    const response = await host.call(7, 'progress', { marker: 'm', steps: 2 }, { _meta: { progressToken: 't' } })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const events = await allEvents(response)
    const ids = events.map(({ id }) => id)
    expect(new Set(ids).size).toBe(4)
    expect(ids.every((id) => id !== undefined)).toBe(true)
    expect(events.map(({ message }) => message?.params?.progress ?? message?.id)).toEqual([undefined, 1, 2, 7])
  })

  test('a notification from the host is accepted with status 202', async () => {
    const host = await openSession()
    const response = await host.post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' })
    expect(response.status).toBe(202)
    expect(await response.text()).toBe('')
  })

  test('no session begins if initialize fails', async () => {
    const host = rawHost(hosting.url)
    const response = await host.initialize({ protocolVersion: 42 })
    expect(response.headers.get('mcp-session-id')).toBeNull()
    expect((await jsonOf(response)).error.code).toBeLessThan(0)
  })

  test('DELETE ends a session', async () => {
    const host = await openSession()
    expect((await host.send('DELETE')).status).toBe(204)
    expect((await host.call(1, 'echo')).status).toBe(404)
    expect((await host.send('DELETE')).status).toBe(404)
  })

  test('a request with the id of a running request is refused', async () => {
    const host = await openSession()
    const first = host.call(1, 'wait', { marker: 'first', wait: 'same id' })
    await expect.poll(async () => (await host.call(1, 'echo')).status).toBe(400)
    gate('same id').resolve()
    expect(resultOf(await jsonOf(await first))).toBe('first')
    expect((await host.call(1, 'echo')).status).toBe(200)
  })

  test('a canceled call is aborted, and the host’s HTTP request for it ends', async () => {
    const host = await openSession()
    const cancel = (requestId: number) =>
      host.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    const plain = host.call(1, 'wait', { marker: 'plain', wait: 'never' })
    const streaming = await host.call(2, 'progress', { steps: 1, wait: 'never' }, { _meta: { progressToken: 1 } })
    const events = eventsOf(streaming)
    const first = await events.next()
    await events.next()
    await cancel(1)
    await cancel(2)
    expect((await plain).status).toBe(202)
    expect((await events.next()).done).toBe(true)
    expect(cancelled.has('plain')).toBe(true)
    expect((await host.send('GET', undefined, { 'Last-Event-ID': `${first.value.id}` })).status).toBe(200)
    // The host has received all events. Status 204 tells it to stop resuming, because the call will never be answered.
    const last = String(first.value.id).replace(/\.0$/, '.1')
    expect((await host.send('GET', undefined, { 'Last-Event-ID': last })).status).toBe(204)
  })

  test('a question to the person is sent on its call’s stream, and the call continues with the answer', async () => {
    const host = await openSession()
    const response = await host.call(1, 'ask')
    const events = eventsOf(response)
    await events.next()
    const { message } = (await events.next()).value
    expect(message).toMatchObject({ method: 'elicitation/create', params: { message: 'Really?' } })
    const answer = { action: 'accept', content: { sure: true } }
    expect((await host.post({ jsonrpc: '2.0', id: message.id, result: answer })).status).toBe(202)
    expect(resultOf((await events.next()).value.message)).toEqual(answer)
  })

  test('two sessions of the same principal have different instance ids', async () => {
    const [first, second] = [await openSession(), await openSession()]
    const instance = async (host: typeof first) => resultOf(await jsonOf(await host.call(1, 'connection'))).instanceId
    expect(await instance(first)).toMatch(/^run_[\w-]{22}$/)
    expect(await instance(first)).toBe(await instance(first))
    expect(await instance(first)).not.toBe(await instance(second))
  })

  test('a session uses the newest credential of its principal', async () => {
    const host = await openSession()
    hosting.credentials.set('refreshed', { ...principal('alice')[1], credential: 'refreshed' })
    const later = rawHost(hosting.url, 'refreshed')
    later.useSession(host.sessionId())
    expect(resultOf(await jsonOf(await later.call(1, 'connection')))).toMatchObject({ credential: 'refreshed' })
  })
})

describe('the stream on which a host listens', () => {
  test('a host receives notifications for its principal and about resources to which it subscribed', async () => {
    const [alice, bob] = [await openSession(), await openSession('token-of-bob')]
    const [hers, his] = [eventsOf(await alice.send('GET')), eventsOf(await bob.send('GET'))]
    await hers.next()
    await his.next()
    hosting.endpoint.notify({ kind: 'tools_list_changed' }, 'alice')
    hosting.endpoint.notify({ kind: 'tools_list_changed' }, 'bob')
    hosting.endpoint.notify({ kind: 'resource_updated', uri: 'cards://1' })
    hosting.endpoint.notify({ kind: 'tools_list_changed' })
    const next = async (events: typeof hers) => (await events.next()).value.message.method
    for (const events of [hers, his]) {
      expect(await next(events)).toBe('notifications/tools/list_changed')
      expect(await next(events)).toBe('notifications/tools/list_changed')
    }
    await alice.post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'cards://1' } })
    hosting.endpoint.notify({ kind: 'resource_updated', uri: 'cards://2' })
    hosting.endpoint.notify({ kind: 'resource_updated', uri: 'cards://1' })
    expect((await hers.next()).value.message.params).toEqual({ uri: 'cards://1' })
  })

  test('questions that belong to no call are sent on the listening stream', async () => {
    const host = rawHost(hosting.url)
    await host.initialize({ capabilities: { elicitation: {} } })
    const events = eventsOf(await host.send('GET'))
    await events.next()
    const call = host.call(1, 'askOutsideCall')
    const { message } = (await events.next()).value
    expect(message.params.message).toBe('Outside the call?')
    await host.post({ jsonrpc: '2.0', id: message.id, result: { action: 'decline' } })
    expect(resultOf(await jsonOf(await call))).toEqual({ action: 'decline' })
  })

  test('a host without a listening stream is asked on the stream of its only running call', async () => {
    const host = rawHost(hosting.url)
    await host.initialize({ capabilities: { elicitation: {} } })
    const events = eventsOf(await host.call(1, 'askOutsideCall'))
    await events.next()
    const { message } = (await events.next()).value
    await host.post({ jsonrpc: '2.0', id: message.id, result: { action: 'cancel' } })
    expect(resultOf((await events.next()).value.message)).toEqual({ action: 'cancel' })
  })

  test('a resumed listening stream carries the notifications that the host missed, and later ones', async () => {
    const host = await openSession()
    const events = eventsOf(await host.send('GET'))
    const { id } = (await events.next()).value
    await events.return(undefined)
    hosting.endpoint.notify({ kind: 'tools_list_changed' })
    const resumed = eventsOf(await host.send('GET', undefined, { 'Last-Event-ID': String(id) }))
    expect((await resumed.next()).value.message.method).toBe('notifications/tools/list_changed')
    hosting.endpoint.notify({ kind: 'tools_list_changed' })
    expect((await resumed.next()).value.message.method).toBe('notifications/tools/list_changed')
  })
})

describe('resumption after a lost connection', () => {
  test('a call is answered on its resumed stream, whether it still runs or has ended', async () => {
    const host = await openSession()
    const args = { marker: 'resumed', steps: 1, wait: 'lost connection' }
    const events = eventsOf(await host.call(1, 'progress', args, { _meta: { progressToken: 1 } }))
    const { id } = (await events.next()).value
    await events.return(undefined)
    const resume = () => host.send('GET', undefined, { 'Last-Event-ID': String(id) })
    const running = eventsOf(await resume())
    expect((await running.next()).value.message.params.progress).toBe(1)
    gate('lost connection').resolve()
    expect(resultOf((await running.next()).value.message)).toBe('resumed')
    expect((await running.next()).done).toBe(true)
    const messages = (await allEvents(await resume())).map(({ message }) => message)
    expect(messages.map(({ method, id: answered }) => method ?? answered)).toEqual(['notifications/progress', 1])
  })

  test('a Last-Event-ID that the server cannot have issued is refused', async () => {
    const host = await openSession()
    expect((await host.send('GET', undefined, { 'Last-Event-ID': '1; drop table' })).status).toBe(400)
  })

  test('a session cannot resume a stream of another session', async () => {
    await hosting.close()
    hosting = await createHosting({ limits: { followMs: 0 } })
    const [first, second] = [await openSession(), await openSession()]
    const response = await first.call(1, 'progress', { steps: 1, marker: 'mine' }, { _meta: { progressToken: 1 } })
    const [{ id } = { id: undefined }] = await allEvents(response)
    expect(await allEvents(await second.send('GET', undefined, { 'Last-Event-ID': String(id) }))).toEqual([])
  })
})

test('a session ends after half an hour without use; an open stream counts as use', async () => {
  await hosting.close()
  const system = fakeSystem()
  const { store, drop } = await sqlite.create()
  onTestFinished(drop)
  const sessions = createMcpSessions(store)
  hosting = await createHosting({ system, sessions, limits: { heartbeatMs: 5 } })
  const [idle, listening] = [await openSession(), await openSession()]
  const stream = await listening.send('GET')
  system.pass(29 * 60_000)
  const passedAtMs = system.now()
  expect((await idle.call(1, 'echo')).status).toBe(200)
  // Each heartbeat on the open stream marks the session as used.
  const usedAtMs = async () => (await sessions.find(sha256(listening.sessionId())))?.usedAtMs
  await expect.poll(usedAtMs).toBeGreaterThanOrEqual(passedAtMs)
  system.pass(30 * 60_000)
  expect((await idle.call(1, 'echo')).status).toBe(404)
  expect((await listening.call(1, 'echo')).status).toBe(200)
  await stream.body?.cancel()
})

test('above a limit, a new session ends the least recently used session of the same caller', async () => {
  await hosting.close()
  const system = fakeSystem()
  hosting = await createHosting({ system, limits: { sessions: 3, sessionsPerPrincipal: 2 } })
  const open = async (credential?: string) => {
    system.pass(61_000)
    return openSession(credential)
  }
  const status = async (host: Awaited<ReturnType<typeof open>>) => (await host.call(1, 'echo')).status
  const [first, second] = [await open(), await open()]
  system.pass(61_000)
  expect(await status(first)).toBe(200)
  const third = await open()
  expect([await status(first), await status(second), await status(third)]).toEqual([200, 404, 200])
  system.pass(61_000)
  expect(await status(third)).toBe(200)
  const [fourth, fifth] = [await open('token-of-bob'), await open('token-of-bob')]
  expect([await status(first), await status(third), await status(fourth), await status(fifth)]).toEqual([
    200, 200, 404, 200,
  ])
})

test('a closing endpoint lets a running call finish, ends the streams and refuses new requests', async () => {
  const host = await openSession()
  const listening = eventsOf(await host.send('GET'))
  await listening.next()
  const call = host.call(1, 'wait', { marker: 'finished', wait: 'closing' })
  const echo = async () => (await hosting.endpoint.fetch(new Request(hosting.url, { method: 'POST' }))).status
  await expect.poll(async () => (await host.call(1, 'echo')).status).toBe(400)
  const closing = hosting.endpoint.close()
  expect(await echo()).toBe(503)
  gate('closing').resolve()
  expect(resultOf(await jsonOf(await call))).toBe('finished')
  await closing
  expect((await listening.next()).done).toBe(true)
})

test('a stream ends soon after its credential is revoked, in MCP 2025 and MCP 2026', async () => {
  const quickHosting = await createHosting({ limits: { heartbeatMs: 20 } })
  for (const name of ['bob', 'carol']) quickHosting.credentials.set(...principal(name))
  const host = rawHost(quickHosting.url, 'token-of-carol')
  await host.initialize()
  const { body, headers } = modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const listen = (name: string) => rawHost(quickHosting.url, `token-of-${name}`).post(body, headers)
  const streams = await Promise.all([host.send('GET'), listen('carol')])
  expect(streams.map(({ status }) => status)).toEqual([200, 200])
  const kept = eventsOf(await listen('bob'))
  await kept.next()
  quickHosting.credentials.delete('token-of-carol')
  await Promise.all(streams.map(allEvents))
  expect((await host.send('GET')).status).toBe(401)
  expect((await listen('carol')).status).toBe(401)
  quickHosting.endpoint.notify({ kind: 'tools_list_changed' })
  expect((await kept.next()).value?.message.method).toBe('notifications/tools/list_changed')
  await quickHosting.close()
})
