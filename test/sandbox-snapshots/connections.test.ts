import { None, processRefreshTokenResponse, refreshTokenGrantRequest } from 'oauth4webapi'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSite } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { createDecisionWorld, pendingOf } from '../decisions/deciding.ts'
import { type SleepingSystem, sleepingSystem } from '../events/clock.ts'
import { errorOf, hosts } from '../mcp/hosts.ts'
import { eventsOf, jsonOf, rawHost } from '../mcp-http/hosting.ts'
import { connect, transport } from '../oauth/application.ts'
import { ok } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'

const path = '/simulations/reset'
const reset = async (world: World) => ok(await world.send('POST', path, { key: world.apiKey }))

/**
 * Connections survive a reset or restore. If the record that a caller waits for is removed, the caller gets an error
 * (docs/sandbox.md#reset-save-restore).
 */
onEachDatabase('connections and waiting calls during a reset', (database) => {
  test('an application stays signed in: its token works, can be refreshed, and has the same identity', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    const world = await createWorld(database, { system: dateSystem() })
    try {
      const ownConnection = await connect(world)
      const added = await connect(world, { choice: { agent: 'new', name: 'Created during sign-in' } })
      const identity = async (key: string) => (await world.get('/whoami', { key })).json.data
      const before = await identity(ownConnection.tokens.access_token)
      expect((await identity(added.tokens.access_token)).attributes.agentId).not.toBe(before.attributes.agentId)
      await reset(world)
      expect(await identity(ownConnection.tokens.access_token)).toEqual(before)
      const { server, client } = ownConnection.application
      const answer = await refreshTokenGrantRequest(
        server,
        client,
        None(),
        ownConnection.tokens.refresh_token,
        transport(world),
      )
      const { access_token } = await processRefreshTokenResponse(server, client, answer)
      expect(await identity(access_token)).toEqual(before)
      // The reset removed the agent that the second sign-in created, so that agent's token no longer works.
      const refused = await world.get('/whoami', { key: added.tokens.access_token })
      expect([refused.status, refused.json.errors[0].code]).toEqual([401, 'unauthenticated'])
    } finally {
      vi.useRealTimers()
      await world.drop()
    }
  })

  test('an MCP session continues, and its host is still notified of changes to watched resources', async () => {
    const world = await createWorld(database)
    let listener: Listener | undefined
    const { service, store, system } = world
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const publicUrl = () => String(listener?.url)
    const site = await createSite({ config: loadConfig({ env: {} }), service, store, publicUrl, system, log })
    listener = await listen({ fetch: site.fetch, host: '127.0.0.1', port: 0, system, log })
    try {
      const cardId = await world.issueCard()
      ok(await world.post('/simulations/snapshots', { name: 'a-card' }))
      // The restore removes the events of these cards. Later events get the same sequence numbers as the removed ones.
      for (let times = 0; times < 3; times++) await world.issueCard()
      const host = rawHost(`${listener.url}/mcp`, world.agentKey)
      await host.initialize()
      const uri = `payments://agent-cards/${cardId}`
      await host.post({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } })
      const stream = eventsOf(await host.send('GET'))
      await stream.next()
      ok(await world.send('POST', '/simulations/snapshots/a-card/restore', { key: world.apiKey }))
      ok(await world.authorize(cardId, 100, { key: world.apiKey }))
      const called = { name: 'get_agent_card', arguments: { cardId } }
      const answer = await jsonOf(await host.post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: called }))
      expect(answer.result.structuredContent.data.attributes.status).toBe('used')
      const notice = (await stream.next()).value.message
      expect([notice.method, notice.params.uri]).toEqual(['notifications/resources/updated', uri])
      await stream.return(undefined)
    } finally {
      await Promise.all([site.close(), listener.close()])
      await service.waits.close()
      await world.drop()
    }
  })

  test.each(hosts)(
    'after a reset, a call that awaits a decision gets an error that says what to do: $host',
    async (chosen) => {
      const on = await createDecisionWorld(database)
      const { host, close } = await on.host(chosen)
      try {
        const { decision } = pendingOf(await host.callTool('create_payment', on.payment(4_200)))
        await reset(on.world)
        // The decision's page no longer has a form.
        await expect(on.decide(decision, 'yes')).rejects.toThrow('The page has no form')
        const refused = errorOf(await host.callTool('create_payment', { decision }))
        expect(refused.next).toMatch(/again without decision/)
      } finally {
        await close()
        await on.world.drop()
      }
    },
  )

  let system: SleepingSystem
  let world: World
  beforeEach(async () => {
    system = sleepingSystem()
    world = await createWorld(database, { system })
  })
  afterEach(async () => {
    await world.service.waits.close()
    await world.drop()
  })

  test('a request that waits for a change gets 404 as soon as a reset removes the record', async () => {
    const cardId = await world.issueCard()
    const waiting = world.get(`/agent-cards/${cardId}?waitSeconds=50`)
    await system.sleepers(1)
    await reset(world)
    const answer = await waiting
    expect([answer.status, answer.json.errors[0].code]).toEqual([404, 'not_found'])
  })
})
