import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSite, type Site } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { delegable } from '../../src/core/permissions.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { ok, payer } from '../payments/payer.ts'
import { merchant, weekly } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addKey, addParty, addUserToken, createWorld, type OtherParty, type World } from '../support/world.ts'
import { eventsOf, modernRequest, rawHost } from './hosting.ts'

/** The kind of a resource, by the prefix of its id. */
const kinds: Readonly<Record<string, string>> = { pcd: 'agent-cards', sub: 'subscriptions', apr: 'approvals' }

onEachDatabase('notifications about watched resources', (database) => {
  let world: World
  let site: Site
  let listener: Listener
  let other: OtherParty
  let ownAgent: { partyId: string; agentId: string }

  beforeAll(async () => {
    world = await createWorld(database)
    other = await addParty(world)
    ownAgent = (await world.whoami()) as typeof ownAgent
    const { service, store, system } = world
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const publicUrl = () => listener.url
    site = await createSite({ config: loadConfig({ env: {} }), service, store, publicUrl, system, log })
    listener = await listen({ fetch: site.fetch, host: '127.0.0.1', port: 0, system, log })
  })
  afterAll(async () => {
    await Promise.all([site.close(), listener.close()])
    await world.service.waits.close()
    await world.drop()
  })

  /** Connects a host with MCP 2025 and one with MCP 2026, and subscribes both to the given resources. */
  const watchResources = async (key: string, ids: readonly string[]) => {
    const uris = ids.map(uriOf)
    const skipped = new Set<string>()
    const legacy = rawHost(`${listener.url}/mcp`, key)
    await legacy.initialize()
    for (const uri of uris)
      await legacy.post({ jsonrpc: '2.0', id: uri, method: 'resources/subscribe', params: { uri } })
    const modern = rawHost(`${listener.url}/mcp`, key)
    const { body, headers } = modernRequest('subscriptions/listen', { notifications: { resourceSubscriptions: uris } })
    const streams = [eventsOf(await legacy.send('GET')), eventsOf(await modern.post(body, headers))]
    for (const stream of streams) await stream.next()
    return {
      /** Skips all notifications up to and including the first one about this record. */
      skipTo: async (id: string) => {
        skipped.add(uriOf(id))
        for (const stream of streams) while ((await stream.next()).value.message.params.uri !== uriOf(id));
      },
      /**
       * Expects that the next notification is about this record. Ignores notifications about records given to `skipTo`,
       * because the creation and the later changes of such a record may be announced separately.
       */
      expectNext: async (id: string) => {
        for (const stream of streams) {
          let message: { method?: string; params: { uri?: string } }
          do message = (await stream.next()).value.message
          while (skipped.has(String(message.params.uri)))
          expect([message.method, message.params.uri]).toEqual(['notifications/resources/updated', uriOf(id)])
        }
      },
      end: () => Promise.all(streams.map((stream) => stream.return(undefined))),
    }
  }
  const uriOf = (id: string) => `payments://${kinds[id.slice(0, 3)]}/${id}`

  test('a change by another credential is reported only to hosts that may read the record', async () => {
    const { partyId } = ownAgent
    const wallets = await world.get('/wallets', { key: world.apiKey })
    const second = await addAgent(world, partyId, wallets.json.data[0].id, delegable)
    const keyWithoutCards = await addKey(world, { partyId, agentId: null, scopes: ['payments.read'] })
    const user = await addUserToken(world, partyId)
    const card = await world.issueCard()
    const readable = {
      second: await world.issueCard({}, { key: second.agentKey }),
      foreign: await world.issueCard({}, { key: other.agentKey }),
      subscription: await merchant(world).create(weekly),
    }
    const readers = await Promise.all(
      [world.agentKey, world.apiKey, user.token].map((key) => watchResources(key, [card])),
    )
    const nonReaders = [
      { readableId: readable.second, host: await watchResources(second.agentKey, [card, readable.second]) },
      { readableId: readable.foreign, host: await watchResources(other.agentKey, [card, readable.foreign]) },
      { readableId: readable.foreign, host: await watchResources(other.apiKey, [card, readable.foreign]) },
      { readableId: readable.subscription, host: await watchResources(keyWithoutCards, [card, readable.subscription]) },
    ]
    ok(await world.authorize(card, 100, { key: world.apiKey }))
    for (const host of readers) await host.expectNext(card)
    ok(await world.authorize(readable.second, 100, { key: second.agentKey }))
    ok(await world.authorize(readable.foreign, 100, { key: other.agentKey }))
    ok(await merchant(world).checkout(readable.subscription))
    // Each host's next notification is about the record that it may read, so no notification about the card came first.
    for (const { readableId, host } of nonReaders) await host.expectNext(readableId)
    await Promise.all([...readers, ...nonReaders.map(({ host }) => host)].map((host) => host.end()))
  })

  test('a host is notified of a payer’s agreement, a person’s decision and a due effect', async () => {
    const self = payer(world)
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1000 })
    const paymentId = (await self.pay(1001, { type: 'party_id', value: other.partyId })).json.data.id
    const approvalId = (await self.approvalOf(paymentId)).id as string
    await self.setLimits('agents', ownAgent.agentId, null)
    const subscriptionId = await merchant(world).create(weekly)
    const card = await world.issueCard()
    const host = await watchResources(world.agentKey, [card, approvalId, subscriptionId])
    // The creation of these records may be announced after watching begins. The card was created last, so notifications
    // about it follow those about the creation of the other records. The test changes the card, so that at least one
    // notification about it arrives.
    ok(await world.authorize(card, 100, { key: world.apiKey }))
    await host.skipTo(card)
    ok(await self.deny(approvalId, undefined, { key: world.apiKey }))
    await host.expectNext(approvalId)
    ok(await merchant(world).checkout(subscriptionId))
    await host.expectNext(subscriptionId)
    ok(await world.post('/simulations/clock/advance', { seconds: 8 * 86_400 }, { key: other.apiKey }))
    ok(await merchant(world).get(subscriptionId))
    await host.expectNext(subscriptionId)
    await host.end()
  })
})
