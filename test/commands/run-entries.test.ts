import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createSite } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { realSystem } from '../../src/core/system.ts'
import { listen } from '../../src/service/listen.ts'
import { yes } from '../mcp/connected.ts'
import { hosts, type Person } from '../mcp/hosts.ts'
import { transportTo } from '../mcp-http/hosting.ts'
import { entriesOf, runOf, type StoredEntry } from '../runs/stored-entries.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type World } from '../support/world.ts'

onEachDatabase('run entries from the MCP endpoint of serve', (database) => {
  let world: World
  const closing: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  afterAll(() => world.drop())

  /** Creates an MCP endpoint that asks the person before each payment, and connects a host to it. */
  async function connect(chosen: (typeof hosts)[number], instanceId: string, person?: Person) {
    const env = { PAYMENTS_TOOLSETS: 'all', PAYMENTS_CONFIRM: 'always', PAYMENTS_CONFIRM_ABOVE: '0' }
    const { service, store, system } = world
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    let url = ''
    const config = loadConfig({ env })
    const site = await createSite({ config, service, store, publicUrl: () => url, system, log })
    const listener = await listen({ fetch: site.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
    url = listener.url
    const host = chosen.open(person)
    const headers = { 'X-Instance-ID': instanceId }
    await host.connect(transportTo(chosen.sdk, `${url}/mcp`, world.agentKey, headers))
    closing.push(
      () => listener.close(),
      () => site.close(),
      () => host.close().catch(() => {}),
    )
    return host
  }

  const summarize = ({ kind, outcome, operation, code }: StoredEntry) => [kind, outcome, operation, code]

  describe.each(hosts)('$host', (chosen) => {
    test('questions, decisions and calls are recorded in the run, with the agent and the host', async () => {
      const instanceId = `${chosen.host} over HTTP`
      const shop = await addParty(world)
      const person: Person = {
        modes: { form: {} },
        answer: () => {
          world.system.pass(1_000)
          return yes
        },
      }
      const host = await connect(chosen, instanceId, person)
      const payment = { amount: 700, counterparty: { type: 'party_id', value: shop.partyId }, description: 'Tea' }
      const payments = [await host.callTool('create_payment', payment), await host.callTool('create_payment', payment)]
      expect(payments.map(({ isError }) => isError)).toEqual([undefined, undefined])
      await host.callTool('create_payment', { amount: 'much' })
      const entries = (await entriesOf(world, instanceId)).filter(({ operation }) => operation === 'create_payment')
      expect(entries.map(summarize)).toEqual([
        ['question', 'asked', 'create_payment', null],
        ['decision', 'agreed', 'create_payment', null],
        ['call', 'done', 'create_payment', null],
        ['call', 'repeated', 'create_payment', null],
        ['call', 'refused', 'create_payment', 'invalid_value'],
      ])
      const { agentId, keyId } = await world.whoami()
      for (const { agentId: by, detail } of entries) expect([by, detail.keyId]).toEqual([agentId, keyId])
      expect((await runOf(world, instanceId)).host).toBe('test-host 1')
    })
  })

  test("a person's decision is recorded once, even if the host sends the answer twice", async () => {
    const instanceId = 'sent twice'
    const { partyId, agentId } = await world.whoami()
    const entry = { partyId, agentId, instanceId, operation: 'create_payment' }
    for (const outcome of ['agreed', 'agreed', 'disagreed'] as const) {
      world.service.reportEntry({ ...entry, kind: 'decision', outcome, once: 'a' })
    }
    world.service.reportEntry({ ...entry, kind: 'decision', outcome: 'agreed', once: 'b' })
    expect((await entriesOf(world, instanceId)).map(({ outcome }) => outcome)).toEqual(['agreed', 'agreed'])
  })
})
