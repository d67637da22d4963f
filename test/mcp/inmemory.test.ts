import { PassThrough } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { afterEach, describe, expect, test } from 'vitest'
import type { Log } from '../../src/client/client.ts'
import { realSystem, type System } from '../../src/core/system.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { serveOverStdio } from '../../src/mcp/stdio.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import {
  card,
  cardId,
  cardTransactionId,
  cutConnection,
  issue,
  json,
  keys,
  refusing,
  scriptedClient,
} from '../client/scripted.ts'
import { sampleOf } from '../support/depth.ts'
import { serverOptions } from '../support/server-options.ts'
import { errorOf, hosts } from './hosts.ts'

type Steps = Parameters<typeof scriptedClient>[0]

const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

/** Connects a host and a server through two in-memory streams. The API gives the server scripted answers. */
async function connectHost(
  open: (typeof hosts)[number]['open'],
  steps: Steps,
  serverSystem: Pick<System, 'sleep'> = realSystem,
) {
  const logged: unknown[] = []
  const record = (fields: object, message: string) => logged.push({ fields, message })
  const log: Log = { info: () => {}, warn: record, error: record }
  const { client, seen, system } = scriptedClient(steps, { log })
  const [toServer, toHost] = [new PassThrough(), new PassThrough()]
  let closes = 0
  const handle = serveOverStdio({
    createServer: () => createMcpServer(serverOptions({ client: async () => client, log })),
    onClose: () => {
      closes++
    },
    log,
    system: serverSystem,
    stdin: toServer,
    stdout: toHost,
  })
  const host = open()
  // The SDK's server transport only reads and writes lines on two streams, so a host can use it too.
  await host.connect(new StdioServerTransport(toHost, toServer))
  opened.push(async () => {
    await host.close()
    await handle.close()
  })
  return { host, seen, system, logged, toServer, closes: () => closes }
}

const ok = json(200, { data: card, meta: { extra: true } })

describe.each(sampleOf(hosts, 2, 1))('$host', ({ open, version }) => {
  test('the host negotiates its protocol version, and reads the instructions and the tool list', async () => {
    const { host } = await connectHost(open, [ok])
    expect(host.version()).toBe(version)
    expect(host.getInstructions()).toContain('issue_agent_card')
    const { tools } = await host.listTools()
    expect(tools.map(({ icons: _, ...tool }) => tool)).toEqual(toolList(everyTool('sandbox')))
    for (const { icons } of tools) expect(icons?.[0]?.src).toMatch(/^data:image\/svg\+xml,%3Csvg/)
    expect(host.requests.getServerVersion()).toMatchObject({ title: 'Payments' })
  })

  test('the result of a call contains no icon; in MCP 2025, the answer to initialize contains one', async () => {
    const { host } = await connectHost(open, [ok])
    const { _meta } = (await host.callTool('issue_agent_card', issue)) as { _meta?: object }
    expect(JSON.stringify(_meta ?? {}).length).toBeLessThan(200)
    const { icons } = host.requests.getServerVersion() ?? {}
    expect(icons?.[0]?.sizes).toEqual(version === '2026-07-28' ? undefined : ['any'])
  })

  test('the result of a call has all data both as structured content and as text', async () => {
    const { host, seen } = await connectHost(open, [ok])
    await host.listTools()
    const result = await host.callTool('issue_agent_card', issue)
    expect(result.isError).not.toBe(true)
    expect(result.structuredContent).toEqual({ data: card, meta: { extra: true } })
    expect(result.content).toEqual([
      { type: 'text', text: `agentCard ${card.id} · status active · maximumAmount $10.00\nmeta: extra true` },
    ])
    expect(seen).toHaveLength(1)
    expect(keys(seen)[0]).toMatch(/^idk_/)
  })

  test('a refusal by the API is returned as an error result with all its fields', async () => {
    const { host } = await connectHost(open, [refusing(409, 'card_purchase_simulation_not_allowed')])
    await host.listTools()
    const error = errorOf(await host.callTool('simulate_card_reversal', { cardTransactionId }))
    expect(error).toEqual({
      code: 'card_purchase_simulation_not_allowed',
      status: 409,
      detail: 'It is card_purchase_simulation_not_allowed.',
      supportId: 'req_1',
      next: expect.stringContaining('Call get_card_transaction: an authorized purchase'),
    })
  })

  test('a call with an unknown outcome can be repeated with the idempotency key in its error', async () => {
    const failing = cutConnection('ECONNRESET')
    const { host, seen } = await connectHost(open, [failing, failing, failing, failing, ok])
    const error = errorOf(await host.callTool('issue_agent_card', issue))
    const { idempotencyKey } = error as { idempotencyKey: string }
    expect(error.next).toBe(
      `Repeat this call unchanged with idempotencyKey "${idempotencyKey}": it is safe; nothing happens twice.`,
    )
    await host.callTool('issue_agent_card', { ...issue, idempotencyKey })
    expect(new Set(keys(seen))).toEqual(new Set([idempotencyKey]))
  })

  test('a call with wrong arguments returns an error result', async () => {
    const { host, seen } = await connectHost(open, [ok])
    const wrong = errorOf(await host.callTool('issue_agent_card', { ...issue, maximumAmount: 'ten' }))
    expect(wrong).toMatchObject({ code: 'invalid_value', source: { pointer: '/data/attributes/maximumAmount' } })
    expect(errorOf(await host.callTool('issue_agent_card', { ...issue, idempotencyKey: 5 })).code).toBe('invalid_value')
    expect(seen).toEqual([])
  })

  test('a call of an unknown tool returns a protocol error', async () => {
    const { host } = await connectHost(open, [ok])
    await expect(host.callTool('make_money', {})).rejects.toMatchObject({ code: -32602 })
    await expect(host.callTool('make_money', {})).rejects.toThrow('Unknown tool: "make_money"')
  })

  test('the attempts of a call and the waits between them are reported as progress', async () => {
    const { host } = await connectHost(open, [refusing(429, 'rate_limited', { 'Retry-After': '2' }), ok])
    const messages: (string | undefined)[] = []
    const onprogress = ({ progress, message }: { progress: number; message?: string | undefined }) =>
      messages.push(`${progress} ${message}`)
    await host.callTool('issue_agent_card', issue, { onprogress })
    expect(messages).toEqual([
      '1 asking the payments API',
      '2 status 429; waiting 2.0 s for attempt 2 of 4',
      '3 attempt 2 of 4',
    ])
  })

  test('when the host cancels a call, its API request is aborted and the connection stays open', async () => {
    let started = () => {}
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const hanging = (request: Request) => {
      started()
      return new Promise<Response>((_, reject) => {
        request.signal.addEventListener('abort', () => {
          aborted = true
          reject(request.signal.reason)
        })
      })
    }
    let aborted = false
    const { host, seen, logged } = await connectHost(open, [hanging, ok])
    const controller = new AbortController()
    const call = host.callTool('issue_agent_card', issue, { signal: controller.signal })
    await running
    controller.abort('no longer wanted')
    await expect(call).rejects.toThrow('no longer wanted')
    await host.callTool('get_agent_card', { cardId })
    expect(aborted).toBe(true)
    expect(seen).toHaveLength(2)
    expect(logged).toEqual([])
  })

  test('the server finishes running calls after its stdin ends, and then closes once', async () => {
    let answer = (_: Response) => {}
    const slow = () =>
      new Promise<Response>((resolve) => {
        answer = resolve
      })
    const { host, seen, toServer, closes } = await connectHost(open, [slow])
    const call = host.callTool('get_agent_card', { cardId })
    await expect.poll(() => seen.length).toBe(1)
    toServer.end()
    await realSystem.sleep(20)
    expect(closes()).toBe(0)
    answer(Response.json({ data: card }))
    expect((await call).structuredContent).toEqual({ data: card })
    await expect.poll(closes).toBe(1)
  })
})

test('after stdin ends, the server waits at most 5 seconds for a running call', async () => {
  const slept: number[] = []
  const sleep = async (ms: number) => void slept.push(ms)
  const { host, seen, toServer, closes } = await connectHost(hosts[0].open, [() => new Promise(() => {})], { sleep })
  const call = host.callTool('get_agent_card', { cardId }).catch((error: Error) => error.message)
  await expect.poll(() => seen.length).toBe(1)
  toServer.end()
  await expect.poll(closes).toBe(1)
  expect(slept).toEqual([5000])
  await host.close()
  expect(await call).toContain('closed')
})

test('a line that is not a JSON-RPC message is logged and skipped', async () => {
  const { host, toServer, logged } = await connectHost(hosts[0].open, [ok])
  toServer.write('not json\n{"jsonrpc":"1.0"}\n\n')
  expect((await host.callTool('get_agent_card', { cardId })).structuredContent?.data).toEqual(card)
  expect(logged).toHaveLength(1)
})

test('an internal error is logged, and its message is not sent to the host', async () => {
  const steps: Steps = [ok]
  const { client } = scriptedClient(steps)
  const logged: unknown[] = []
  const log: Log = { info: () => {}, warn: () => {}, error: (fields) => logged.push(fields) }
  const failing = { ...client, call: () => Promise.reject(new Error('secret')) }
  const [toServer, toHost] = [new PassThrough(), new PassThrough()]
  const handle = serveOverStdio({
    createServer: () => createMcpServer(serverOptions({ client: async () => failing, log })),
    onClose: () => {},
    log,
    system: realSystem,
    stdin: toServer,
    stdout: toHost,
  })
  const host = hosts[0].open()
  await host.connect(new StdioServerTransport(toHost, toServer))
  const result = await host.callTool('whoami')
  expect(errorOf(result)).toMatchObject({ code: 'server_error' })
  expect(JSON.stringify(result)).not.toContain('secret')
  expect(logged).toHaveLength(1)
  await handle.close()
})

test('in production, the server has no simulation tools', async () => {
  const { client } = scriptedClient([ok])
  const log: Log = { info: () => {}, warn: () => {}, error: () => {} }
  const server = createMcpServer(serverOptions({ client: async () => client, environment: 'production', log }))
  const [toServer, toHost] = [new PassThrough(), new PassThrough()]
  await server.connect(new StdioServerTransport(toServer, toHost))
  const host = hosts[0].open()
  await host.connect(new StdioServerTransport(toHost, toServer))
  await expect(host.callTool('simulate_card_capture', {})).rejects.toThrow('Unknown tool')
  expect(host.getInstructions()).toContain('real money moves')
  await host.close()
})
