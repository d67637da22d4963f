import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { serveOverStdio } from '../../src/mcp/stdio.ts'
import { scriptedClient } from '../client/scripted.ts'
import { runResource } from '../support/run-resources.ts'
import { serverOptions } from '../support/server-options.ts'
import { hosts } from './hosts.ts'

const cli = await runResource('cli')

const [newest] = hosts

test.each(hosts)('the host $host gets the list of tools before the server opens the sandbox', async ({ open }) => {
  const order: string[] = []
  const { client } = scriptedClient([])
  const [toServer, toHost] = [new PassThrough(), new PassThrough()]
  const opened = Promise.withResolvers<void>()
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const handle = serveOverStdio({
    createServer: () =>
      createMcpServer(
        serverOptions({
          client: async () => {
            order.push('open')
            opened.resolve()
            return client
          },
          log,
        }),
      ),
    onClose: () => {},
    log,
    system: realSystem,
    stdin: toServer,
    stdout: toHost,
  })
  toHost.on('data', (chunk) => {
    if (String(chunk).includes('"tools":[')) order.push('listed')
  })
  const host = open()
  await host.connect(new StdioServerTransport(toHost, toServer))
  await host.listTools()
  await opened.promise
  expect(order).toEqual(['listed', 'open'])
  await host.close()
  await handle.close()
})

test.each([
  ['by default, the process does not log successful calls', {}, ''],
  ['at log level info, the process logs calls of issue_agent_card', { PAYMENTS_LOG_LEVEL: 'info' }, 'issue_agent_card'],
])('%s', async (_, settings, written) => {
  const host = newest.open()
  const env = { PAYMENTS_DATABASE_URL: 'sqlite::memory:', NODE_NO_WARNINGS: '1', ...settings }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli],
    env,
    stderr: 'pipe',
  })
  const stderr = text(transport.stderr as Readable)
  await host.connect(transport)
  await host.callTool('list_agent_cards', {})
  await host.callTool('issue_agent_card', { merchant: { name: 'Shop' }, maximumAmount: 5000 })
  await host.close()
  const lines = await stderr
  if (written === '') expect(lines).toBe('')
  else expect(lines).toContain(written)
})

test("a server with an embedded sandbox does not load Node's HTTP clients, which take 20 MB", async () => {
  const host = newest.open()
  const reporter = `data:text/javascript,${encodeURIComponent(
    "process.on('exit', () => console.error(process.moduleLoadList.filter((name) => /undici|http2.core/.test(name))))",
  )}`
  const env = { PATH: process.env.PATH ?? '', PAYMENTS_DATABASE_URL: 'sqlite::memory:' }
  const command = { command: process.execPath, args: ['--import', reporter, cli], env, stderr: 'pipe' as const }
  const transport = new StdioClientTransport(command)
  const report = text(transport.stderr as Readable)
  await host.connect(transport)
  const card = { merchant: { name: 'Books' }, maximumAmount: 100 }
  expect((await host.callTool('issue_agent_card', card)).isError).toBeUndefined()
  expect((await host.callTool('whoami')).isError).toBeUndefined()
  await host.close()
  expect(await report).toBe('[]\n')
})
