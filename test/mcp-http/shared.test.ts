import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SessionStore } from '../../src/core/session-store.ts'
import { realSystem, type System, sha256 } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { createMcpSessions } from '../../src/service/store/mcp-sessions.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createHosting, eventsOf, type Hosting, jsonOf, rawHost, resultOf } from './hosting.ts'
import { cancelled, gate } from './test-server.ts'

/** Two endpoints with separate database connections stand in for two processes. */
onEachDatabase('two processes', (database) => {
  let stores: Store[]
  let drop: () => Promise<void>
  let here: Hosting
  let there: Hosting
  let aheadMs = 0
  const system: System = { ...realSystem, now: () => realSystem.now() + aheadMs }

  beforeEach(async () => {
    const first = await database.create()
    stores = [first.store, await openStore({ url: first.url, system: realSystem })]
    drop = first.drop
    const hosting = (store: Store | undefined) => {
      if (store === undefined) throw new Error('no store')
      const sessions: SessionStore = createMcpSessions(store)
      return createHosting({ sessions, system, limits: { pollMs: 10 } })
    }
    here = await hosting(stores[0])
    there = await hosting(stores[1])
  })
  afterEach(async () => {
    await here.close()
    await there.close()
    await stores[1]?.close()
    await drop()
  })

  const openBoth = async (params: object = {}) => {
    const first = rawHost(here.url)
    await first.initialize(params)
    const second = rawHost(there.url)
    second.useSession(first.sessionId())
    return [first, second] as const
  }
  const progress = { _meta: { progressToken: 'p' } }

  test('a session continues in another process with the same instance id', async () => {
    const [first, second] = await openBoth()
    const connections = [await first.call(1, 'connection'), await second.call(1, 'connection')]
    const [a, b] = [
      resultOf(await jsonOf(connections[0] as Response)),
      resultOf(await jsonOf(connections[1] as Response)),
    ]
    expect(a.instanceId).toMatch(/^run_/)
    expect(b).toEqual(a)
  })

  test('many simultaneous requests to the other process find the same session', async () => {
    const [, second] = await openBoth()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, id) => second.call(id, 'echo', { marker: id })))
    const markers = await Promise.all(answers.map(async (answer) => resultOf(await jsonOf(answer))))
    expect(markers).toEqual(Array.from({ length: 20 }, (_, id) => id))
  })

  test("another caller's credential does not find the session in the other process", async () => {
    const [first] = await openBoth()
    const bob = rawHost(there.url, 'token-of-bob')
    bob.useSession(first.sessionId())
    expect((await bob.call(1, 'echo')).status).toBe(404)
    expect((await bob.send('DELETE')).status).toBe(404)
    expect((await first.call(1, 'echo')).status).toBe(200)
  })

  test('a session that ends in one process also ends in the other', async () => {
    const [first, second] = await openBoth()
    expect((await second.send('DELETE')).status).toBe(204)
    aheadMs += 1_000
    expect((await first.call(1, 'echo')).status).toBe(404)
  })

  test('the other process resumes an interrupted stream with the missed and all later messages', async () => {
    const [first, second] = await openBoth()
    const wait = `resumed on ${database.name}`
    const events = eventsOf(await first.call(1, 'progress', { steps: 2, marker: 'm', wait }, progress))
    await events.next()
    const { id } = (await events.next()).value
    await events.return(undefined)
    const resumed = eventsOf(await second.send('GET', undefined, { 'Last-Event-ID': String(id) }))
    expect((await resumed.next()).value.message.params.progress).toBe(2)
    gate(wait).resolve()
    expect(resultOf((await resumed.next()).value.message)).toBe('m')
    expect((await resumed.next()).done).toBe(true)
  })

  test("the person's answer reaches the call even if it is posted to the other process", async () => {
    const [first, second] = await openBoth()
    const events = eventsOf(await first.call(1, 'ask'))
    await events.next()
    const question = (await events.next()).value.message
    const answer = { action: 'accept', content: { sure: true } }
    expect((await second.post({ jsonrpc: '2.0', id: question.id, result: answer })).status).toBe(202)
    expect(resultOf((await events.next()).value.message)).toEqual(answer)
  })

  test('a call can be canceled through the other process', async () => {
    const [first, second] = await openBoth()
    const marker = `cancelled there on ${database.name}`
    const call = first.call('long', 'wait', { marker, wait: 'never' })
    // Waits until the long call runs. From then on, a second call with the same id is refused.
    await expect.poll(async () => (await first.call('long', 'echo')).status).toBe(400)
    await second.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'long' } })
    expect((await call).status).toBe(202)
    expect(cancelled.has(marker)).toBe(true)
  })

  test('questions of the two processes have different ids, and each answer reaches its question', async () => {
    const [first, second] = await openBoth()
    const [a, b] = [eventsOf(await first.call(1, 'ask')), eventsOf(await second.call(1, 'ask'))]
    await a.next()
    await b.next()
    const [asked, askedToo] = [(await a.next()).value.message.id, (await b.next()).value.message.id]
    expect(asked).not.toBe(askedToo)
    const answer = (content: object) => ({ action: 'accept', content })
    // Each answer is posted to the process that did not ask the question.
    await second.post({ jsonrpc: '2.0', id: asked, result: answer({ sure: true }) })
    await first.post({ jsonrpc: '2.0', id: askedToo, result: answer({ sure: false }) })
    expect(resultOf((await a.next()).value.message).content).toEqual({ sure: true })
    expect(resultOf((await b.next()).value.message).content).toEqual({ sure: false })
  })

  test('a process that has lost its database answers 503, and the other process keeps working', async () => {
    const [first, second] = await openBoth()
    await stores[1]?.close()
    const refused = await second.call(1, 'echo')
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await first.call(1, 'echo')).status).toBe(200)
  })

  test('session ids are stored only as hashes, and credentials and unknown parameters not at all', async () => {
    const [first] = await openBoth({ clientInfo: { name: 'host', version: '1' }, password: 'hunter2' })
    await first.call(1, 'progress', { steps: 1, marker: 'm' }, progress)
    const rows = await stores[0]?.transaction(async ({ db }) => [
      await db
        .selectFrom('mcpSessions' as never)
        .selectAll()
        .execute(),
      await db
        .selectFrom('mcpEvents' as never)
        .selectAll()
        .execute(),
    ])
    const text = JSON.stringify(rows)
    expect(text).toContain(sha256(first.sessionId()))
    expect(text).not.toContain(first.sessionId())
    expect(text).not.toContain('token-of-alice')
    expect(text).not.toContain('hunter2')
  })
})
