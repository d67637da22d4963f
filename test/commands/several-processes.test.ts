import { createServer, request as forward, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Served, serve } from '../packaging/served.ts'
import { postgres } from '../support/databases.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')
const secret = 'several-processes-0123456789'

let database: Awaited<ReturnType<typeof postgres.createEmpty>>
let proxy: Server
let address: string
const processes: Served[] = []
/** The number of requests that the proxy has sent to each process. */
const requestCounts = [0, 0]

beforeAll(async () => {
  database = await postgres.createEmpty()
  proxy = createServer((request, response) => {
    const index = (requestCounts[0] as number) <= (requestCounts[1] as number) || processes.length === 1 ? 0 : 1
    requestCounts[index] = (requestCounts[index] as number) + 1
    const { hostname, port } = new URL(processes[index]?.url ?? '')
    const { method, url: path, headers } = request
    const passed = forward({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
    response.on('close', () => passed.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const env = {
    PATH: process.env.PATH ?? '',
    PAYMENTS_DATABASE_URL: database.url,
    PAYMENTS_PUBLIC_URL: address,
    PAYMENTS_PORT: '0',
    PAYMENTS_SANDBOX_AGENT_KEY: secret,
    PAYMENTS_CONFIRM: 'always',
    PAYMENTS_CONFIRM_ABOVE: '0',
    PAYMENTS_LOG_LEVEL: 'error',
  }
  processes.push(await serve([cli, 'serve'], env))
  processes.push(await serve([cli, 'serve'], env))
})

afterAll(async () => {
  await Promise.all(processes.map((served) => served.stop()))
  proxy.closeAllConnections()
  await new Promise((resolve) => proxy.close(resolve))
  await database.drop()
}, 30_000)

test('an MCP session continues in any process, even after one process has stopped', async () => {
  const questions: string[] = []
  const host = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: { form: {} } } })
  host.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params.message)
    const schema = 'requestedSchema' in params ? params.requestedSchema : { properties: {} }
    const content = Object.fromEntries(Object.keys(schema?.properties ?? {}).map((name) => [name, true]))
    return { action: 'accept', content }
  })
  const requestInit = { headers: { authorization: `Bearer ak_ntl_sandbox_${secret}` } }
  const transport = new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit })
  await host.connect(transport as Transport)
  let cents = 500
  const buy = async () => {
    // Each call has a different amount. An identical call would count as a repeat, and the person would not be asked.
    const card = { merchant: { name: 'Books' }, maximumAmount: cents++, currency: 'USD' }
    const { structuredContent, isError, content } = await host.callTool({ name: 'issue_agent_card', arguments: card })
    if (isError) throw new Error(JSON.stringify(content))
    return (structuredContent as { data: { attributes: { instanceId: string } } }).data.attributes.instanceId
  }
  // The proxy alternates between the processes: one sends the question, and the other receives the person's answer.
  const instances = [await buy(), await buy(), await buy()]
  expect(questions).toHaveLength(3)
  expect(new Set(instances).size).toBe(1)
  expect(Math.min(...requestCounts)).toBeGreaterThan(3)

  await processes.pop()?.stop()
  expect(await buy()).toBe(instances[0])
  await host.close()
})

test('the OAuth metadata contains the common address of the processes', async () => {
  const metadata = async () => (await fetch(`${address}/.well-known/oauth-authorization-server`)).json()
  expect(await metadata()).toMatchObject({ issuer: address, token_endpoint: `${address}/oauth/token` })
  const resource = await fetch(`${address}/.well-known/oauth-protected-resource/mcp`)
  expect(await resource.json()).toMatchObject({ resource: `${address}/mcp`, authorization_servers: [address] })
})
