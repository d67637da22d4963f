import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { actorOf, createMcpServer } from '../../src/mcp/server.ts'
import { hosts } from '../mcp/hosts.ts'
import { sqlite } from '../support/databases.ts'
import { serverOptions } from '../support/server-options.ts'
import { createWorld, type World } from '../support/world.ts'
import { createHosting, type Hosting, transportTo } from './hosting.ts'
import { cancelled, gate } from './test-server.ts'

describe.each(hosts)('$host on the payments server', ({ open, sdk, version }) => {
  let world: World
  let hosting: Hosting
  beforeAll(async () => {
    world = await createWorld(sqlite)
    const { system, service } = world
    const log = { info: () => {}, warn: () => {}, error: () => {} }
    hosting = await createHosting({
      createServer: ({ principal, instanceId, toolsets, readOnly }) => {
        const client = createClient({
          baseUrl: 'http://sandbox.invalid',
          fetch: service.fetch,
          credential: () => principal().credential,
          instanceId,
          system,
          log,
        })
        const actor = actorOf(principal().credential)
        return createMcpServer(
          serverOptions({
            ...(toolsets && { toolsets }),
            readOnly,
            actor,
            client: async () => client,
            instanceId: () => instanceId,
            log,
          }),
        )
      },
    })
    const agent = {
      id: 'agent',
      partyId: 'party',
      actor: 'agent',
      scopes: undefined,
      clientId: undefined,
      credential: world.agentKey,
    } as const
    hosting.credentials.set(world.agentKey, agent)
  })
  afterAll(async () => {
    await hosting.close()
    await world.drop()
  })

  const connect = async (headers: Record<string, string> = {}) => {
    const host = open()
    await host.connect(transportTo(sdk, hosting.url, world.agentKey, headers))
    return host
  }
  const card = { merchant: { name: 'Books' }, maximumAmount: 5_000, currency: 'USD' }
  const instanceOf = async (cardId: unknown) =>
    (await world.get(`/agent-cards/${cardId}`)).json.data.attributes.instanceId

  test('the host negotiates the expected protocol version, lists the tools and makes a purchase', async () => {
    const host = await connect()
    expect(host.version() ?? version).toBe(version)
    expect((await host.listTools()).tools.map(({ name }) => name)).toContain('issue_agent_card')
    const issued = await host.callTool('issue_agent_card', card)
    expect(issued.isError).not.toBe(true)
    const cardId = issued.structuredContent?.data.id
    const paid = { cardId, amount: 1_200, currency: 'USD', merchant: { name: 'Books' } }
    const authorized = await host.callTool('simulate_card_authorization', paid)
    expect(authorized.structuredContent?.data.attributes).toMatchObject({ status: 'authorized' })
    await host.close()
  })

  test('all calls of a connection have the same instance id, which the host may choose', async () => {
    const [ownHost, chosen] = [await connect(), await connect({ 'X-Instance-ID': 'chosen run' })]
    const issue = async (host: typeof ownHost) =>
      instanceOf((await host.callTool('issue_agent_card', card)).structuredContent?.data.id)
    const instance = await issue(ownHost)
    expect(instance).toMatch(/^run_/)
    expect(await issue(ownHost)).toBe(instance)
    expect(await issue(chosen)).toBe('chosen run')
    await ownHost.close()
    await chosen.close()
  })

  test('a host that connects read-only is offered only tools that read data', async () => {
    const host = await connect({ 'X-MCP-Readonly': 'true' })
    const names = (await host.listTools()).tools.map(({ name }) => name)
    expect(names).toContain('list_wallets')
    expect(names).not.toContain('issue_agent_card')
    await host.close()
  })
})

describe.each(hosts)('$host on the test server', ({ open, sdk }) => {
  let hosting: Hosting
  beforeAll(async () => {
    hosting = await createHosting()
  })
  afterAll(() => hosting.close())

  test('the host gets progress notifications during a call, and then the result', async () => {
    const host = open()
    await host.connect(transportTo(sdk, hosting.url))
    const steps: number[] = []
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress)
    const result = await host.callTool('progress', { marker: 'm', steps: 3 }, { onprogress })
    expect(result.content[0]?.text).toBe('"m"')
    expect(steps).toEqual([1, 2, 3])
    await host.close()
  })

  test('a call that the host cancels is aborted on the server', async () => {
    const host = open()
    await host.connect(transportTo(sdk, hosting.url))
    const stop = new AbortController()
    const marker = `cancelled by ${sdk} ${Math.random()}`
    const call = host.callTool(
      'progress',
      { marker, steps: 1, wait: 'never' },
      {
        signal: stop.signal,
        onprogress: () => stop.abort(),
      },
    )
    await expect(call).rejects.toThrow()
    const other = host.callTool('wait', { marker, wait: 'never' }, { signal: AbortSignal.timeout(50) })
    await expect(other).rejects.toThrow()
    await expect.poll(() => cancelled.has(marker)).toBe(true)
    await host.close()
  })

  test('the host asks the person a question from a tool, and the tool gets the answer', async () => {
    const host = open({ modes: { form: {} }, answer: () => ({ action: 'accept', content: { sure: true } }) })
    await host.connect(transportTo(sdk, hosting.url))
    const result = await host.callTool('askForInput', {})
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual({ sure: true })
    await host.close()
  })

  test('the host is notified of changes to its resources and to lists, but not of other changes', async () => {
    const host = open()
    await host.connect(transportTo(sdk, hosting.url))
    const changes: string[] = []
    await host.watch(['cards://1'], (change) => changes.push(change))
    await expect
      .poll(() => {
        hosting.endpoint.notify({ kind: 'resource_updated', uri: 'cards://2' }, 'alice')
        hosting.endpoint.notify({ kind: 'resource_updated', uri: 'cards://1' }, 'bob')
        hosting.endpoint.notify({ kind: 'resource_updated', uri: 'cards://1' }, 'alice')
        return changes
      })
      .toContain('cards://1')
    // If the host received bob's notifications, the one about prompts would arrive before the one about tools.
    hosting.endpoint.notify({ kind: 'prompts_list_changed' }, 'bob')
    hosting.endpoint.notify({ kind: 'tools_list_changed' })
    await expect.poll(() => changes).toContain('tools')
    expect(changes).not.toContain('prompts')
    expect(changes).not.toContain('cards://2')
    await host.close()
  })
})

test.each(['v1', 'v2'] as const)('a host with SDK %s gets its result even if the connection breaks', async (sdk) => {
  const hosting = await createHosting()
  const host = hosts.find((each) => each.sdk === sdk && each.version === '2025-11-25')?.open()
  if (host === undefined) throw new Error(`SDK ${sdk} has no MCP 2025 host`)
  let breakConnection = () => {}
  const transport = transportTo(sdk, hosting.url, 'token-of-alice', {}, (provided) => {
    breakConnection = provided
  })
  await host.connect(transport)
  const onprogress = () => breakConnection()
  const call = host.callTool('progress', { marker: 'resumed', steps: 1, wait: `break ${sdk}` }, { onprogress })
  setTimeout(() => gate(`break ${sdk}`).resolve(), 100)
  expect((await call).content[0]?.text).toBe('"resumed"')
  await host.close()
  await hosting.close()
})
