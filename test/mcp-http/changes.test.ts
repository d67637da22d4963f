import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSite, type Site } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { openSignals } from '../../src/service/store/engine/open-signals.ts'
import type { Signals } from '../../src/service/store/engine/signals.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase, postgres } from '../support/databases.ts'
import { secrets } from '../support/world.ts'
import { eventsOf, modernRequest, rawHost } from './hosting.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const agentKey = `ak_ntl_sandbox_${secrets.agentKey}`

interface RunningServer {
  url: string
  store: Store
  service: Service
  signals: Signals
  close(): Promise<void>
}

/** Starts the server as `serve` does, but in the test's process. Each server stands in for a separate process. */
async function startServer(databaseUrl: string): Promise<RunningServer> {
  const system = realSystem
  const store = await openStore({ url: databaseUrl, system })
  const service = createService({ store, system, environment: 'sandbox', rateLimit: 1e6, log })
  await service.seed(secrets)
  const signals = await openSignals({ url: databaseUrl, system, log })
  let listener: Listener | undefined
  const publicUrl = () => listener?.url ?? ''
  const config = loadConfig({ env: {} })
  const site: Site = await createSite({ config, service, store, publicUrl, system, log, signals })
  listener = await listen({ fetch: site.fetch, host: '127.0.0.1', port: 0, system, log })
  const close = async () => {
    await Promise.all([site.close(), listener?.close()])
    await signals.close()
    await store.close()
  }
  return { url: listener.url, store, service, signals, close }
}

onEachDatabase('changes in other processes', (database) => {
  let drop: () => Promise<void>
  let servers: [RunningServer, RunningServer, RunningServer]

  beforeEach(async () => {
    const created = await database.createEmpty()
    drop = created.drop
    const first = await startServer(created.url)
    servers = [first, await startServer(created.url), await startServer(created.url)]
  })
  afterEach(async () => {
    await Promise.all(servers.map((each) => each.close()))
    await drop()
  })

  const send = (server: RunningServer, path: string, attributes: object) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${agentKey}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': crypto.randomUUID(),
        'X-Instance-ID': 'run 1',
      },
      body: JSON.stringify({ data: { attributes } }),
    })
  const issueCard = async (server: RunningServer) => {
    const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
    const issued = await send(server, '/agent-cards', card)
    return ((await issued.json()) as { data: { id: string } }).data.id
  }
  const authorize = (server: RunningServer, cardId: string) =>
    send(server, `/simulations/agent-cards/${cardId}/authorize`, {
      ...{ amount: 100, currency: 'USD', merchant: { name: 'Books' } },
    })

  test('a change to a card in one process is reported to subscribers in another, in MCP 2025 and MCP 2026', async () => {
    const [subscribeServer, listenServer, changeServer] = servers
    const watched = await issueCard(changeServer)
    const other = await issueCard(changeServer)
    const uri = `payments://agent-cards/${watched}`
    const first = rawHost(`${subscribeServer.url}/mcp`, agentKey)
    await first.initialize()
    const second = rawHost(`${listenServer.url}/mcp`, agentKey)
    second.useSession(first.sessionId())
    const legacy = eventsOf(await second.send('GET'))
    await legacy.next()
    const subscription = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } })
    const modern = eventsOf(
      await second.post(subscription.body, { ...subscription.headers, 'Mcp-Session-Id': undefined }),
    )
    await modern.next()
    // The MCP 2025 host subscribes in one process and listens in a second; the cards change in a third.
    expect((await first.post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } })).status).toBe(
      200,
    )
    expect((await authorize(changeServer, other)).status).toBe(200)
    expect((await authorize(changeServer, watched)).status).toBe(200)
    for (const events of [legacy, modern]) {
      expect((await events.next()).value?.message).toMatchObject({
        ...{ method: 'notifications/resources/updated', params: { uri } },
      })
    }
    await Promise.all([legacy.return(undefined), modern.return(undefined)])
  })

  test('after a host unsubscribes from a card in one process, other processes stop reporting changes to that card', async () => {
    const [subscribeServer, listenServer, changeServer] = servers
    const cards = [await issueCard(changeServer), await issueCard(changeServer)]
    const first = rawHost(`${subscribeServer.url}/mcp`, agentKey)
    await first.initialize()
    const second = rawHost(`${listenServer.url}/mcp`, agentKey)
    second.useSession(first.sessionId())
    const events = eventsOf(await second.send('GET'))
    await events.next()
    const ask = (host: typeof first, method: string, card: string | undefined) =>
      host.post({ jsonrpc: '2.0', id: method, method, params: { uri: `payments://agent-cards/${card}` } })
    await ask(second, 'resources/subscribe', cards[0])
    await ask(first, 'resources/subscribe', cards[1])
    await ask(first, 'resources/unsubscribe', cards[0])
    await authorize(changeServer, cards[0] as string)
    await authorize(changeServer, cards[1] as string)
    expect((await events.next()).value?.message.params.uri).toBe(`payments://agent-cards/${cards[1]}`)
    await events.return(undefined)
  })
})

test('a signal reaches only other processes, even after the connections to the database were lost', async () => {
  const { store, url, drop } = await postgres.create()
  // Waits are 100 times shorter than in production.
  const system = { ...realSystem, sleep: (ms: number, signal?: AbortSignal) => realSystem.sleep(ms / 100, signal) }
  const [sender, receiver] = await Promise.all([openSignals({ url, system, log }), openSignals({ url, system, log })])
  try {
    const notices: string[] = []
    const unsubscribe = receiver.subscribe('a', () => notices.push('a'))
    receiver.subscribe('b', () => notices.push('b'))
    sender.subscribe('a', () => notices.push('an echo'))
    const signal = async (topic: string) => {
      notices.length = 0
      await expect
        .poll(() => {
          sender.send(topic)
          return notices.includes(topic)
        })
        .toBe(true)
    }
    await signal('a')
    await signal('b')
    await store.transaction(async ({ db }) => {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%pg_notify%' and pid <> pg_backend_pid()`.execute(
        db,
      )
    })
    await signal('a')
    unsubscribe()
    await signal('b')
    notices.length = 0
    sender.send('a')
    await signal('b')
    expect(notices).not.toContain('a')
    expect(notices).not.toContain('an echo')
  } finally {
    await Promise.all([sender.close(), receiver.close()])
    await drop()
  }
})
