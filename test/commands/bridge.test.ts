import { spawnSync } from 'node:child_process'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../src/testing/sandbox.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await createSandbox()
})
beforeEach(() => sandbox.reset())
afterAll(() => sandbox.close())

/** Passes a client to a function, and closes the client afterwards. */
async function withClient<Answer>(client: Client, work: (client: Client) => Promise<Answer>): Promise<Answer> {
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

async function connectThroughBridge(mode: Mode, key = sandbox.keys.agent): Promise<Client> {
  const client = new Client({ name: 'bridged', version: '1' }, { versionNegotiation: { mode } })
  const args = [cli, 'bridge', sandbox.mcpUrl]
  const server = { command: process.execPath, args, env: { PAYMENTS_KEY: key }, stderr: 'ignore' } as const
  await client.connect(new StdioClientTransport(server))
  return client
}

async function connectDirectly(mode: Mode): Promise<Client> {
  const client = new Client({ name: 'direct', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { Authorization: `Bearer ${sandbox.keys.agent}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(sandbox.mcpUrl), { requestInit }))
  return client
}

type Mode = NonNullable<NonNullable<ClientOptions['versionNegotiation']>['mode']>

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }

describe.each(['auto', 'legacy'] as const)('the bridge for a stdio host in %s mode', (mode) => {
  it('the host gets the same version, instructions and tools as with a direct connection', async () => {
    const all = async (client: Client) => ({
      version: client.getServerVersion(),
      instructions: client.getInstructions(),
      tools: (await client.listTools()).tools,
    })
    expect(await withClient(await connectThroughBridge(mode), all)).toEqual(
      await withClient(await connectDirectly(mode), all),
    )
  })

  it('a tool call whose connection is cut has an unknown outcome; repeating it is safe', async () => {
    const fault = {
      operation: 'issue_agent_card',
      path: '/mcp',
      fault: 'effect_then_lost',
      when: { times: 1 },
    } as const
    await withClient(await connectThroughBridge(mode), async (client) => {
      await sandbox.faults.set(fault)
      const call = () => client.callTool({ name: 'issue_agent_card', arguments: card })
      await expect(call()).rejects.toThrow(/No usable answer came.*not known/)
      expect(await call()).toMatchObject({ structuredContent: { data: { type: 'agentCard' } } })
      const { structuredContent } = await client.callTool({ name: 'list_agent_cards', arguments: {} })
      expect(structuredContent).toMatchObject({ data: [{ attributes: { status: 'active' } }] })
    })
  })

  it('the host learns that the endpoint refuses its key', async () => {
    await expect(connectThroughBridge(mode, 'ak_ntl_sandbox_secret-of-an-unknown-key')).rejects.toThrow(
      /401|credential|sign in/i,
    )
  })
})

test('the bridge answers every request that it received before its input ended, and then exits', () => {
  const clientInfo = { name: 'lines', version: '1' }
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`
  const options = { input, env: { PAYMENTS_KEY: sandbox.keys.agent }, encoding: 'utf8', timeout: 20_000 } as const
  const { stdout, status } = spawnSync(process.execPath, [cli, 'bridge', 'http://127.0.0.1:9/mcp'], options)
  expect(JSON.parse(stdout)).toMatchObject({
    id: 1,
    error: { message: expect.stringContaining('No usable answer came') },
  })
  expect(status).toBe(0)
})

test.each([
  ['no address', [], 'The address of the MCP endpoint is missing'],
  ['an address without https', ['http://payments.example/mcp'], 'it accepts an https address'],
  ['no key', ['http://127.0.0.1:9/mcp'], 'PAYMENTS_KEY (--key) is missing'],
])('with %s, the bridge exits, and its error says which setting to correct', (_, args, words) => {
  const { stderr, status } = spawnSync(process.execPath, [cli, 'bridge', ...args], { env: {}, encoding: 'utf8' })
  expect(stderr).toContain(words)
  expect(status).toBe(2)
})
