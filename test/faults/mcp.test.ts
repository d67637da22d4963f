import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createSite } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { errorOf, type Host, hosts } from '../mcp/hosts.ts'
import { transportTo } from '../mcp-http/hosting.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { clearFaults, counts, setFault } from './rules.ts'

const hostPerVersion = hosts.filter(({ version }, index) => hosts.findIndex((one) => one.version === version) === index)
const silent = { debug() {}, info() {}, warn() {}, error() {} }

onEachDatabase('the MCP endpoint', (database) => {
  let world: World
  let other: OtherParty
  let listener: Listener
  let close: () => Promise<void>
  const opened: Host[] = []
  // Each payment has a different amount. If a second payment had the same amount soon after the first, it would count
  // as a repeat, even from a different host.
  let amount = 100
  beforeAll(async () => {
    const system = fakeSystem({ now: Date.now() })
    world = await createWorld(database, { system })
    other = await addParty(world)
    const config = loadConfig({ env: { PAYMENTS_TOOLSETS: 'all' } })
    let url = ''
    const publicUrl = () => url
    const site = await createSite({ config, ...world, publicUrl, log: silent })
    const { fetch, corsPaths } = site
    listener = await listen({ fetch, corsPaths, host: '127.0.0.1', port: 0, system: realSystem, log: silent })
    url = listener.url
    close = site.close
  })
  afterEach(async () => {
    for (const host of opened.splice(0)) await host.close()
    await clearFaults(world)
  })
  afterAll(async () => {
    await close()
    await listener.close()
    await world.drop()
  })

  describe.each(hostPerVersion)('tool calls from $host', ({ open, sdk }) => {
    const connect = async (key: string, headers: Record<string, string> = {}, path = '/mcp') => {
      const host = open()
      opened.push(host)
      await host.connect(transportTo(sdk, `${listener.url}${path}`, key, headers))
      return host
    }
    const payment = () => ({ amount: ++amount, counterparty: { type: 'party_id', value: other.partyId } })

    test('a rule with the path /mcp applies only to the tool of its operation, whichever toolsets the host selects', async () => {
      const host = await connect(world.agentKey, {}, '/mcp/x/payments')
      const rule = { operation: 'create_payment', path: '/mcp', when: { times: 1 } } as const
      await setFault(world, { id: 'lost', fault: 'effect_then_lost', ...rule })
      expect((await host.callTool('list_payments')).isError).not.toBe(true)
      const input = payment()
      // `fetch failed` means a cut connection. An HTTP error, even with status 500, has a different message.
      await expect(host.callTool('create_payment', input)).rejects.toThrow('fetch failed')
      const repeat = await host.callTool('create_payment', input)
      expect(repeat.structuredContent).toHaveProperty('repeated')
      expect(await counts(world)).toEqual({ lost: [2, 1] })
      const { json } = await world.get('/activity?limit=100', { key: world.apiKey })
      expect(JSON.stringify(json)).toContain('"lost"')
    })

    test('a rule without a path applies only to the API call behind the tool; the MCP server retries that call', async () => {
      const host = await connect(world.agentKey)
      await setFault(world, { id: 'api', operation: 'create_payment', fault: 'effect_then_lost', when: { times: 1 } })
      const paid = await host.callTool('create_payment', payment())
      expect(paid.isError).not.toBe(true)
      expect(await counts(world)).toEqual({ api: [2, 1] })
    })

    const listed = async (host: Host, tool: string) => {
      const { isError, structuredContent } = await host.callTool(tool)
      expect(isError).not.toBe(true)
      return structuredContent as unknown as { data: { id: string }[]; meta: object }
    }

    test('the fault "empty_page" returns an empty list if a rule or the header asks for it', async () => {
      const host = await connect(world.agentKey)
      await host.callTool('create_payment', payment())
      const rule = { operation: 'list_payments', path: '/mcp', when: { times: 1 } } as const
      await setFault(world, { id: 'empty', fault: 'empty_page', ...rule })
      await setFault(world, { id: 'api', operation: 'list_payments', fault: 'reset', when: { nth: 2 } })
      expect((await listed(host, 'list_wallets')).data).not.toEqual([])
      expect(await listed(host, 'list_payments')).toMatchObject({
        ...{ data: [], meta: { pagination: { hasMore: false, nextCursor: null } } },
      })
      expect((await listed(host, 'list_payments')).data).not.toEqual([])
      // The rules for the API do not count the API request of a tool call to which a fault was already applied.
      expect(await counts(world)).toEqual({ empty: [2, 1], api: [1, 0] })
      const hostWithHeader = await connect(world.agentKey, { 'X-Sandbox-Fault': 'empty_page' })
      expect((await listed(hostWithHeader, 'list_payments')).data).toEqual([])
      expect(errorOf(await hostWithHeader.callTool('whoami'))).toMatchObject({ code: 'invalid_value' })
    })

    test('the fault "stale" returns the state before the last change if a rule or the header asks for it', async () => {
      const host = await connect(world.agentKey)
      const hostWithHeader = await connect(world.agentKey, { 'X-Sandbox-Fault': 'stale' })
      const rule = { operation: 'list_payments', path: '/mcp', when: { times: 1 } } as const
      await setFault(world, { id: 'old', fault: 'stale', ...rule })
      const paid = await host.callTool('create_payment', payment())
      const id = paid.structuredContent?.data.id
      const ids = async (from: Host) => (await listed(from, 'list_payments')).data.map((one) => one.id)
      expect(await ids(host)).not.toContain(id)
      expect(await ids(host)).toContain(id)
      expect(await ids(hostWithHeader)).not.toContain(id)
      expect(await counts(world)).toEqual({ old: [2, 1] })
    })

    test('the header applies a fault to the tool call if the host’s credential may manage the sandbox', async () => {
      const headers = { 'X-Sandbox-Fault': 'error; code=rate_limited' }
      const managing = await connect(world.agentKey, headers)
      expect(errorOf(await managing.callTool('create_payment', payment()))).toMatchObject({ code: 'rate_limited' })
      const wrong = await connect(world.agentKey, { 'X-Sandbox-Fault': 'stale' })
      expect(errorOf(await wrong.callTool('list_payments'))).toMatchObject({
        ...{ code: 'invalid_value', detail: expect.stringContaining('X-Sandbox-Fault') },
      })
      const foreign = await connect(other.agentKey, headers)
      expect(errorOf(await foreign.callTool('list_payments'))).toMatchObject({ code: 'forbidden' })
    })
  })
})
