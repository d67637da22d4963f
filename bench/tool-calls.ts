import type { Programs } from './programs.ts'
import { cardAttributes, inFlight, perSecond } from './sandbox.ts'
import { opening, type StdioServer } from './stdio-server.ts'
import { compare, type Row } from './table.ts'

const rounds = 6
const modes = [
  { name: 'sequential', limit: 1, calls: 300, goal: { goal: { atLeast: 0.7 } } },
  { name: '64 in flight', limit: 64, calls: 1500, goal: {} },
] as const

/** Calls per second over stdio: ours each issue a card, durable in the SQLite file; the other's echo a text. */
export async function measureToolCalls(programs: Programs): Promise<Row[]> {
  const servers = [programs.startOurs(), programs.startOneTool(), programs.startOneToolDurable()] as const
  try {
    for (const server of servers) await greet(server)
    const rows: Row[] = []
    for (const mode of modes) rows.push(...(await measureMode(servers, mode)))
    return rows
  } finally {
    await Promise.all(servers.map((server) => server.end()))
  }
}

async function measureMode(
  [ours, oneTool, durable]: readonly [StdioServer, StdioServer, StdioServer],
  { name, limit, calls, goal }: (typeof modes)[number],
): Promise<Row[]> {
  const samples = { ours: [] as number[], oneTool: [] as number[], durable: [] as number[] }
  for (let round = -1; round < rounds; round++) {
    const mine = await callsPerSecond(ours, issue, limit, calls)
    const its = await callsPerSecond(oneTool, echo, limit, calls)
    const kept = await callsPerSecond(durable, keep, limit, calls)
    if (round < 0) continue
    samples.ours.push(mine)
    samples.oneTool.push(its)
    samples.durable.push(kept)
  }
  const measurement = `tool calls over stdio, ${name}: issue_agent_card against`
  const row = { unit: '/s', ours: samples.ours } as const
  return [
    compare({ ...row, measurement: `${measurement} echo`, other: samples.oneTool, goal: { atLeast: 0.5 } }),
    compare({ ...row, measurement: `${measurement} one durable row`, other: samples.durable, ...goal }),
  ]
}

const issue = { name: 'issue_agent_card', arguments: cardAttributes }
const keep = { name: 'keep', arguments: { text: 'hello' } }
const echo = { name: 'echo', arguments: { text: 'hello' } }

export async function greet(server: StdioServer): Promise<void> {
  await server.request('initialize', opening)
  server.notify('notifications/initialized')
}

function callsPerSecond(server: StdioServer, call: object, limit: number, calls: number): Promise<number> {
  const all = Array.from({ length: calls }, () => call)
  return perSecond(calls, () => inFlight(limit, all, (params) => server.request('tools/call', params)))
}
