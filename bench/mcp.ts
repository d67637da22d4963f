import { StatementSync } from 'node:sqlite'
import { createClient } from '../src/client/client.ts'
import { databaseMemories } from '../src/commands/database-memory.ts'
import { realSystem } from '../src/core/system.ts'
import * as mcp from '../src/mcp/dependencies.ts'
import { createMcpServer } from '../src/mcp/server.ts'
import { initializeParams } from './processes.ts'
import { authorize, cardAttributes, issueCard, openSandbox, type Sandbox, send } from './sandbox.ts'
import { compare, inTurns, judge, type Row, single } from './table.ts'

const callsPerRound = 400

/**
 * Compares the CPU time of a tool call in this process with the CPU time of the same request sent through `fetch`. Also
 * counts the SQL statements for issuing a card and for authorizing a purchase.
 */
export async function measureMcp(): Promise<Row[]> {
  const sandbox = await openSandbox('sqlite::memory:')
  try {
    const cardId = await issueCard(sandbox)
    const call = await toolCaller(sandbox, mcp.nothingRemembered)
    const callWithRepeats = await toolCaller(sandbox, await repeatSettings(sandbox))
    const read = () => send(sandbox, 'GET', `/agent-cards/${cardId}`)
    const issue = () => issueCard(sandbox)
    const issueTool = { name: 'issue_agent_card', arguments: cardAttributes }
    const rows = [
      await callRow(
        'get_agent_card',
        () => call('tools/call', { name: 'get_agent_card', arguments: { cardId } }),
        read,
      ),
      await callRow('issue_agent_card', () => call('tools/call', issueTool), issue),
      await callRow('issue_agent_card with repeat detection', () => callWithRepeats('tools/call', issueTool), issue),
    ]
    return [...rows, ...(await countStatements(sandbox))]
  } finally {
    await sandbox.close()
  }
}

async function callRow(what: string, tool: () => Promise<unknown>, direct: () => Promise<unknown>): Promise<Row> {
  const works = [tool, direct].map((work) => () => processorMsOf(work))
  const [ours, other] = await inTurns(9, works)
  const measurement = `CPU of callTool in process, ${what}: against the same request by fetch`
  return compare({ measurement, unit: 'ms', ours, other, goal: { atMost: 1.4 } })
}

/** Returns settings with which the MCP server stores each call before sending it, to recognize a repeat of the call. */
async function repeatSettings({ service, store, key }: Sandbox): Promise<mcp.RepeatSettings> {
  const { keyId: id, partyId } = (await service.identify(key)) ?? { keyId: '', partyId: '' }
  const memoryOf = databaseMemories(service, store)
  return { windowMs: 900_000, run: undefined, memory: () => memoryOf({ id, partyId }) }
}

async function processorMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  for (let count = 0; count < callsPerRound; count++) await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / callsPerRound
}

const countedCalls = 100

/**
 * Counts the SQL statements per call when calls run one after another. Includes the statements of background work.
 * Leaves out pragmas and the statements that begin or end transactions and savepoints.
 */
async function countStatements(sandbox: Sandbox): Promise<Row[]> {
  const cards: string[] = []
  const issued = await statementsOf(sandbox, async () => void cards.push(await issueCard(sandbox)))
  const authorized = await statementsOf(sandbox, () => authorize(sandbox, cards.pop() ?? ''))
  const row = (what: string, figure: number) =>
    single(`SQL statements per ${what}, SQLite, average of ${countedCalls} calls`, figure.toFixed(2), judge(figure))
  return [row('issued card', issued), row('authorization', authorized)]
}

async function statementsOf({ service }: Sandbox, work: () => Promise<unknown>): Promise<number> {
  await service.runLog.flush()
  let count = 0
  const isCounted = (sql: string) => !/^\s*(begin|commit|rollback|savepoint|release|pragma)/i.test(sql)
  const { all, get, iterate, run } = StatementSync.prototype
  const originals = { all, get, iterate, run }
  for (const [name, original] of Object.entries(originals)) {
    Object.assign(StatementSync.prototype, {
      [name](this: StatementSync, ...parameters: unknown[]) {
        if (isCounted(this.sourceSQL)) count++
        return Reflect.apply(original, this, parameters)
      },
    })
  }
  try {
    for (let call = 0; call < countedCalls; call++) await work()
    await service.runLog.flush()
    return count / countedCalls
  } finally {
    Object.assign(StatementSync.prototype, originals)
  }
}

/** Starts an MCP server in this process. Returns a function that sends requests to it. */
async function toolCaller({ service, key }: Sandbox, repeats: mcp.RepeatSettings) {
  const client = createClient({
    baseUrl: 'http://sandbox.invalid',
    fetch: service.fetch,
    carry: service.carry(),
    credential: () => key,
    instanceId: 'bench',
    system: realSystem,
  })
  const server = createMcpServer({
    version: '1',
    log: console,
    system: realSystem,
    choice: mcp.everyTool('sandbox'),
    api: { client: async () => client, personAdvice: { signIn: '', reach: '', offer: () => '' } },
    people: mcp.noPeople,
    repeats,
    faults: mcp.noFaults,
    run: mcp.unknownRun,
    changes: mcp.ownChanges,
    ui: mcp.noViews,
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
  await call('initialize', initializeParams)
  transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return call
}
