import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport as EarlierStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, describe, expect, test } from 'vitest'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { startHttpServer } from '../client/http-server.ts'
import { commandLineSource } from '../support/bundled-cli.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { errorOf, type Host, hosts, type ToolResult } from './hosts.ts'

const cli = isDeep ? commandLineSource : await runResource('cli')
const environment = { PAYMENTS_DATABASE_URL: 'sqlite::memory:', PAYMENTS_LOG_LEVEL: 'error', NODE_NO_WARNINGS: '1' }

const opened: Host[] = []
afterEach(async () => {
  for (const host of opened.splice(0)) await host.close()
})

async function startProcess({ sdk, open }: (typeof hosts)[number]): Promise<Host> {
  const parameters = { command: process.execPath, args: [cli], env: environment, stderr: 'inherit' as const }
  const host = open()
  opened.push(host)
  await host.connect(
    sdk === 'v1' ? (new EarlierStdioTransport(parameters) as never) : new StdioClientTransport(parameters),
  )
  return host
}

function dataOf(result: ToolResult) {
  if (result.structuredContent === undefined) throw new Error(`The result has no data: ${result.content[0]?.text}`)
  const { data } = result.structuredContent
  expect(result.content[0]?.text).toContain(` ${data.id} · `)
  return data
}

const merchant = { name: 'Example Store' }
const dollars = (amount: number) => ({ amount: amount * 100, currency: 'USD' })

async function issueCard(host: Host): Promise<string> {
  const card = await host.callTool('issue_agent_card', { merchant, maximumAmount: 5000, currency: 'USD' })
  expect(dataOf(card)).toMatchObject({ type: 'agentCard', attributes: { status: 'active', maximumAmount: 5000 } })
  return dataOf(card).id
}

describe.each(sampleOf(hosts, 3))('the stdio server with the host $host', (chosen) => {
  test('an agent can issue a card, and its purchase can be authorized, captured and refunded', async () => {
    const host = await startProcess(chosen)
    expect(host.version()).toBe(chosen.version)
    const choice = { ...everyTool('sandbox'), toolsets: ['default'], actor: 'agent' } as const
    expect((await host.listTools()).tools.map(({ name }) => name)).toEqual(toolList(choice).map(({ name }) => name))

    const cardId = await issueCard(host)
    const { attributes } = dataOf(await host.callTool('get_agent_card_details', { cardId }))
    expect(attributes).toMatchObject({
      number: expect.stringMatching(/^\d{16}$/),
      cvv: expect.stringMatching(/^\d{3}$/),
    })

    const authorized = await host.callTool('simulate_card_authorization', { cardId, merchant, ...dollars(40) })
    expect(dataOf(authorized).attributes).toMatchObject({ kind: 'purchase', status: 'authorized', held: 4000 })
    const cardTransactionId = dataOf(authorized).id
    const captured = await host.callTool('simulate_card_capture', { cardTransactionId, ...dollars(30) })
    expect(dataOf(captured).attributes).toMatchObject({ status: 'partially_captured', captured: 3000, held: 0 })
    const refunded = await host.callTool('simulate_card_refund', { cardTransactionId, ...dollars(10) })
    expect(dataOf(refunded).attributes).toMatchObject({ kind: 'refund', amount: 1000 })
    expect(dataOf(await host.callTool('get_agent_card', { cardId })).attributes).toMatchObject({ status: 'used' })

    const again = errorOf(await host.callTool('simulate_card_reversal', { cardTransactionId }))
    expect(again).toMatchObject({ code: 'card_purchase_simulation_not_allowed', status: 409 })
    expect(again.supportId).toMatch(/^req_/)
    expect(again.idempotencyKey).toBe(undefined)
  })

  test.runIf(isDeep)(
    'two equal calls issue one card, and so do two calls with the same idempotency key; a new key issues a new card',
    async () => {
      const host = await startProcess(chosen)
      const first = await issueCard(host)
      expect(await issueCard(host)).toBe(first)
      const input = { merchant, maximumAmount: 5000, currency: 'USD', idempotencyKey: 'the same, 2 times' }
      const once = dataOf(await host.callTool('issue_agent_card', input))
      expect(once.id).not.toBe(first)
      const repeated = await host.callTool('issue_agent_card', input)
      expect(dataOf(repeated)).toEqual(once)
      expect(repeated.structuredContent).toMatchObject({ replayed: true })
    },
  )

  test.runIf(isDeep)('repeating a canceled call with its idempotency key makes only one purchase', async () => {
    const host = await startProcess(chosen)
    const input = {
      cardId: await issueCard(host),
      merchant: { name: 'Sandbox Unresolved' },
      ...dollars(5),
      idempotencyKey: 'cancelled 1 time, then repeated',
    }
    const controller = new AbortController()
    // For this merchant, the API answers the first attempt with 503, so the server waits and tries again.
    const onprogress = ({ message }: { message?: string | undefined }) => {
      if (message?.includes('waiting')) controller.abort('the user changed their mind')
    }
    const call = host.callTool('simulate_card_authorization', input, { signal: controller.signal, onprogress })
    await expect(call).rejects.toThrow('changed their mind')
    const repeated = await host.callTool('simulate_card_authorization', input)
    expect(dataOf(repeated).attributes.status).toBe('authorized')
    const list = await host.callTool('list_card_transactions', { cardId: input.cardId })
    expect(list.structuredContent?.data).toHaveLength(1)
  })
})

/** Runs the command-line program with these messages as its entire input. */
async function run(messages: object[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli], { env: { PATH: process.env.PATH, ...environment, ...env } })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  child.stdin.end(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))
  const [code] = await once(child, 'close')
  const [stdout, stderr] = await output
  return {
    code,
    stderr,
    answers: stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  }
}

const initialize = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

test('the process exits when its stdin ends, both before and after a host initializes it', async () => {
  expect(await run([])).toEqual({ code: 0, stderr: '', answers: [] })
  const { code, answers } = await run([initialize])
  expect(code).toBe(0)
  expect(answers).toMatchObject([
    { id: 1, result: { protocolVersion: '2025-11-25', serverInfo: { name: 'payments-mcp' } } },
  ])
})

test('calls that are still running when stdin ends are answered', async () => {
  const issue = (maximumAmount: number) => ({
    name: 'issue_agent_card',
    arguments: { merchant, maximumAmount, currency: 'USD' },
  })
  const calls = [2, 3, 4].map((id) => ({ id, method: 'tools/call', params: issue(id * 100) }))
  const { code, stderr, answers } = await run([initialize, { method: 'notifications/initialized' }, ...calls])
  expect(code).toBe(0)
  expect(stderr).toBe('')
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3, 4])
  const cards = answers.slice(1).map(({ result }) => result.structuredContent.data.id)
  expect(new Set(cards).size).toBe(3)
})

test('if the API is unreachable, initialize succeeds, and the result of a tool call reports the problem', async () => {
  const call = { id: 2, method: 'tools/call', params: { name: 'whoami', arguments: {} } }
  const { address, close } = await startHttpServer(() => {})
  await close()
  const env = { PAYMENTS_BASE_URL: address, PAYMENTS_KEY: `ak_ntl_sandbox_${'a'.repeat(43)}` }
  const { code, answers } = await run([initialize, { method: 'notifications/initialized' }, call], env)
  expect(code).toBe(0)
  expect(answers[0]).toMatchObject({ id: 1 })
  expect(errorOf(answers[1].result)).toMatchObject({
    code: 'service_unavailable',
    detail: `Can't reach ${new URL(address).host}: the connection was refused.`,
    next: `Have the person check whether the payments API is running at ${address}, and whether that address (PAYMENTS_BASE_URL) is correct. Then call again.`,
  })
  expect(JSON.stringify(answers)).not.toContain('aaaaaa')
})
