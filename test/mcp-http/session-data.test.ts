import { Server, type ServerContext } from '@modelcontextprotocol/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { secretFields } from '../../src/core/secret-fields.ts'
import type { SessionStore } from '../../src/core/session-store.ts'
import { realSystem, type System } from '../../src/core/system.ts'
import { isSecretMessage } from '../../src/mcp/http/secret-messages.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { createMcpSessions } from '../../src/service/store/mcp-sessions.ts'
import { catalogue } from '../../tools/index.ts'
import { onEachDatabase } from '../support/databases.ts'
import { allEvents, createHosting, eventsOf, type Hosting, rawHost } from './hosting.ts'
import { gate } from './test-server.ts'

/** Tests that the session data in the database contains no secrets, and is deleted when it is no longer needed. */

const canary = 'canary-4111-1111'
const secretOperations = Object.values(catalogue).filter((operation) => secretFields(operation).length > 0)

/**
 * Returns a server that reports progress before each answer, so each answer is sent over a stream. The secret fields of
 * an answer contain the canary. The tool `question` asks the person to open a page.
 */
function notifyingServer(): Server {
  const server = new Server({ name: 'notifying', version: '1' }, { capabilities: { tools: {}, resources: {} } })
  const progress = ({ mcpReq }: ServerContext) =>
    mcpReq.notify({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
  server.setRequestHandler('tools/call', async ({ params: { name } }, context) => {
    await progress(context)
    if (name === 'question') {
      const params = { mode: 'url', message: 'Open it.', url: `https://pay.example/${canary}`, elicitationId: 'e' }
      const answer = await context.mcpReq.send({ method: 'elicitation/create', params } as never)
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
    }
    const operation = secretOperations.find((each) => each.name === name)
    const secretNames = operation === undefined ? [] : secretFields(operation)
    const attributes = Object.fromEntries(secretNames.map((field) => [field, canary]))
    const structuredContent = { data: { attributes: { name, ...attributes } } }
    return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
  })
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    await progress(context)
    return { contents: [{ uri, text: canary }] }
  })
  return server
}

onEachDatabase('the stored data of a session', (database) => {
  let store: Store
  let drop: () => Promise<void>
  let hosting: Hosting
  let host: ReturnType<typeof rawHost>
  /** Copies of all messages that were ever stored. The store itself soon deletes delivered messages. */
  let stored: string[]
  let aheadMs = 0
  const system: System = { ...realSystem, now: () => realSystem.now() + aheadMs }

  beforeEach(async () => {
    aheadMs = 0
    ;({ store, drop } = await database.create())
    stored = []
    const inDatabase: SessionStore = createMcpSessions(store)
    const sessions: SessionStore = {
      ...inDatabase,
      appendEvent: (event, bounds) => {
        stored.push(event.message)
        return inDatabase.appendEvent(event, bounds)
      },
    }
    const limits = { sweepMs: 5 }
    hosting = await createHosting({
      sessions,
      system,
      createServer: notifyingServer,
      isSecret: isSecretMessage,
      limits,
    })
    host = rawHost(hosting.url)
    await host.initialize({ capabilities: { elicitation: { url: {} } } })
  })
  afterEach(async () => {
    await hosting.close()
    await drop()
  })
  const storedEvents = () => store.read(({ db }) => db.selectFrom('mcpEvents').select('message').execute())

  test('an answer that contains a secret reaches the host and is never stored', async () => {
    expect(secretOperations.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['get_agent_card_details', 'create_api_key', 'create_payment', 'rotate_agent_key']),
    )
    for (const [id, { name }] of secretOperations.entries()) {
      const events = eventsOf(await host.call(id, name))
      const first = (await events.next()).value
      let stored = JSON.stringify(await storedEvents())
      let text = ''
      for await (const { message } of events) {
        text += JSON.stringify(message)
        stored += JSON.stringify(await storedEvents())
      }
      expect(text).toContain(canary)
      expect(stored).not.toContain(canary)
      expect(first.id).toBeDefined()
    }
  })

  test('a resource that contains a secret is not stored', async () => {
    const read = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'payments://subscriptions/sub_1' } }
    await allEvents(await host.post(read))
    expect(stored.join()).not.toContain(canary)
    expect(stored.join()).toContain('contained a secret')
  })

  test('a question with a link is not stored, but a host that resumes in the same process gets it again', async () => {
    const events = eventsOf(await host.call(1, 'question'))
    const first = (await events.next()).value.id
    await events.next()
    const { id: questionId } = (await events.next()).value.message
    await events.return(undefined)
    expect(JSON.stringify(await storedEvents())).not.toContain(canary)
    const resumed = eventsOf(await host.send('GET', undefined, { 'Last-Event-ID': String(first) }))
    await resumed.next()
    const again = (await resumed.next()).value.message
    expect(again).toMatchObject({ id: questionId, params: { url: `https://pay.example/${canary}` } })
    await host.post({ jsonrpc: '2.0', id: questionId, result: { action: 'accept' } })
    expect(JSON.stringify((await resumed.next()).value.message)).toContain('accept')
  })

  test('a fully delivered stream is soon deleted, and a host that tries to resume it gets status 204', async () => {
    const events = await allEvents(await host.call(1, 'plain'))
    expect(events.at(-1)?.message.result.structuredContent.data.attributes.name).toBe('plain')
    await expect.poll(storedEvents).toEqual([])
    const late = await host.send('GET', undefined, { 'Last-Event-ID': String(events[1]?.id) })
    expect(late.status).toBe(204)
  })

  test('old undelivered messages are deleted, even if no host asks for them', async () => {
    await hosting.close()
    await store.transaction(async ({ db }) => {
      const [session] = await db.selectFrom('mcpSessions').selectAll().execute()
      const row = { idHash: String(session?.idHash), streamId: 'p', sequence: 1, message: 'x', sentAtMs: system.now() }
      await db.insertInto('mcpEvents').values(row).execute()
    })
    aheadMs = 11 * 60_000
    hosting = await createHosting({ sessions: createMcpSessions(store), system, limits: { sweepMs: 5 } })
    await expect.poll(storedEvents).toEqual([])
  })

  test('a host’s answer is stored only if it has the id of a question from the server', async () => {
    await hosting.close()
    hosting = await createHosting({ sessions: createMcpSessions(store), system })
    const askingHost = rawHost(hosting.url)
    await askingHost.initialize({ capabilities: { elicitation: {} } })
    const events = eventsOf(await askingHost.call(1, 'ask'))
    await events.next()
    const { id } = (await events.next()).value.message
    const mail = () => store.read(({ db }) => db.selectFrom('mcpMail').selectAll().execute())
    const forgedIds = [String(id).replace(/.$/, (end) => (end === '0' ? '1' : '0')), 'AAAAAAAA.1', `${id}x`, 5, '']
    for (const wrong of forgedIds)
      await askingHost.post({ jsonrpc: '2.0', id: wrong, result: { filler: 'x'.repeat(60_000) } })
    expect(await mail()).toEqual([])
    await askingHost.post({ jsonrpc: '2.0', id, result: { action: 'accept', content: {} } })
    expect((await events.next()).value.message.id).toBe(1)
    // The question is answered. The first further answer is still stored, in case a different process waits for it.
    for (let count = 0; count < 3; count++) await askingHost.post({ jsonrpc: '2.0', id, result: { count } })
    expect(await mail()).toHaveLength(1)
  })
})

describe('the limits of a session', () => {
  let hosting: Hosting
  afterEach(() => hosting.close())

  const createRefusingServer = () => {
    const server = new Server({ name: 'refusing', version: '1' }, { capabilities: { resources: { subscribe: true } } })
    server.setRequestHandler('resources/subscribe', ({ params }) => {
      if (params.uri.startsWith('no')) throw new Error('refused')
      return {}
    })
    return server
  }
  const subscribe = (id: number, uri: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'resources/subscribe',
    params: { uri },
  })
  /** Sends a notification for each URI, and returns the URIs whose notifications reached the host. */
  const readNotifiedUris = async (host: ReturnType<typeof rawHost>, uris: string[]) => {
    const events = eventsOf(await host.send('GET'))
    await events.next()
    for (const uri of [...uris, 'last']) hosting.endpoint.notify({ kind: 'resource_updated', uri })
    const changes: string[] = []
    for await (const { message } of events) {
      if (message.params.uri === 'last') break
      changes.push(message.params.uri)
    }
    return changes
  }

  test('refused subscriptions, and those above the limit on total length, cause no notifications', async () => {
    hosting = await createHosting({ createServer: createRefusingServer })
    const host = rawHost(hosting.url)
    await host.initialize()
    await host.post(subscribe(0, 'last'))
    const large = (letter: string) => letter.repeat(20_000)
    const uris = ['no', 'yes', ...['a', 'b', 'c', 'd', 'e'].map(large)]
    for (const [id, uri] of uris.entries()) await host.post(subscribe(id + 1, uri))
    expect(await readNotifiedUris(host, uris)).toEqual(['yes', large('a'), large('b'), large('c')])
  })

  test('a request is refused if the running requests become too large in total, or if its id is too long', async () => {
    hosting = await createHosting({ limits: { runningCharactersPerSession: 10_000 } })
    const host = rawHost(hosting.url)
    await host.initialize()
    const args = { marker: 'x'.repeat(8_000), wait: 'sum' }
    const first = host.call('first', 'wait', args)
    await expect.poll(async () => (await host.call('second', 'wait', args)).status).toBe(429)
    expect((await host.call('x'.repeat(257), 'echo')).status).toBe(400)
    expect((await host.call('x'.repeat(256), 'echo')).status).toBe(200)
    gate('sum').resolve()
    expect((await first).status).toBe(200)
  })
})
