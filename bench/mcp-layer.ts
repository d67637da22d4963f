import { createClient } from '../src/client/client.ts'
import { realSystem } from '../src/core/system.ts'
import {
  everyTool,
  nobody,
  noFaults,
  nothingRemembered,
  noViews,
  ownChanges,
  unknownRun,
} from '../src/mcp/dependencies.ts'
import { createMcpServer } from '../src/mcp/server.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'
import { opening } from './stdio-server.ts'
import { judged, median, type Row, summary } from './table.ts'

const rounds = 7
const callsPerRound = 500

/** What a tool call costs above the same request to the service in the same process, without a transport. */
export async function measureMcpLayer(): Promise<Row[]> {
  const sandbox = await openSandbox('sqlite::memory:')
  try {
    const cardId = await sandbox.issueCard()
    const call = await toolCaller(sandbox)
    const mcp = () => call('tools/call', { name: 'get_agent_card', arguments: { cardId } })
    const direct = async () => {
      const response = await sandbox.service.fetch(sandbox.request('GET', `/agent-cards/${cardId}`))
      await response.text()
    }
    const samples = { mcp: [] as number[], direct: [] as number[], added: [] as number[] }
    for (let round = -1; round < rounds; round++) {
      const times = { mcp: [] as number[], direct: [] as number[] }
      for (let count = 0; count < callsPerRound; count++) {
        times.mcp.push(await milliseconds(mcp))
        times.direct.push(await milliseconds(direct))
      }
      if (round < 0) continue
      samples.mcp.push(median(times.mcp))
      samples.direct.push(median(times.direct))
      samples.added.push(median(times.mcp) - median(times.direct))
    }
    const added = median(samples.added)
    return [
      {
        measurement: 'get_agent_card through the MCP server, against fetch in the same process',
        ours: summary(samples.mcp, 'ms'),
        other: summary(samples.direct, 'ms'),
        ratio: `+${added.toFixed(3)} ms`,
        ...judged(added, { atMost: 0.3 }, ' ms more'),
      },
    ]
  } finally {
    await sandbox.close()
  }
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** A caller of the MCP server over a transport that is nothing but two function calls. */
async function toolCaller({ service, key }: Sandbox) {
  const { fetch } = service
  const baseUrl = 'http://sandbox.invalid'
  const client = createClient({ baseUrl, fetch, credential: () => key, instanceId: 'bench', system: realSystem })
  const server = createMcpServer({
    version: '1',
    log: console,
    system: realSystem,
    choice: everyTool('sandbox'),
    api: { client: async () => client, ways: { signIn: '', reach: '', offer: () => '' } },
    people: nobody,
    repeats: nothingRemembered,
    faults: noFaults,
    run: unknownRun,
    changes: ownChanges,
    ui: noViews,
  })
  const waiting = new Map<unknown, (answer: object) => void>()
  type Transport = Parameters<typeof server.connect>[0]
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => {
      if ('id' in message) waiting.get(message.id)?.(message)
    },
  }
  await server.connect(transport)
  let lastId = 0
  const call = async (method: string, params: Record<string, unknown>) => {
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<object>()
    waiting.set(id, resolve)
    transport.onmessage?.({ jsonrpc: '2.0', id, method, params })
    const answer = await promise
    waiting.delete(id)
    if (!('result' in answer) || (answer.result as { isError?: true }).isError) throw new Error(JSON.stringify(answer))
  }
  await call('initialize', opening)
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return call
}
