import { type Era, eras } from './eras.ts'
import type { HttpServer } from './http-server.ts'
import { processorMs } from './process-figures.ts'
import type { Programs } from './programs.ts'
import { cardAttributes, inFlight } from './sandbox.ts'
import { compare, type Row } from './table.ts'
import { greet } from './tool-calls.ts'

const rounds = 7
const calls = 1_500

type Call = () => Promise<unknown>

/** What a call takes of the process that serves it, by MCP and by REST; what the caller takes does not count. */
export async function measureProcessor(programs: Programs): Promise<Row[]> {
  const [http, stdio] = [await programs.startOursHttp(), programs.startOurs()]
  try {
    await greet(stdio)
    const issue = { name: 'issue_agent_card', arguments: cardAttributes }
    const { data } = JSON.parse(await http.rest('POST', '/agent-cards', cardAttributes))
    const card = { name: 'get_agent_card', arguments: { cardId: data.id } }
    const restIssue = () => http.rest('POST', '/agent-cards', cardAttributes)
    const restGet = () => http.rest('GET', `/agent-cards/${data.id}`)
    const rows: Row[] = []
    for (const era of eras) {
      for (const [tool, rest] of [
        [issue, restIssue],
        [card, restGet],
      ] as const) {
        const mine = { pid: http.pid, call: await toolCaller(era, http, tool), limit: 64 }
        const measurement = `processor time of a call over HTTP, ${era.name}: ${tool.name} against REST`
        rows.push(await comparison(measurement, mine, { pid: http.pid, call: rest, limit: 64 }, 1.3))
      }
    }
    const overStdio = { pid: stdio.pid, call: () => stdio.request('tools/call', issue), limit: 1 }
    const measurement = 'processor time of a call over stdio, sequential: issue_agent_card against REST over HTTP'
    rows.push(await comparison(measurement, overStdio, { pid: http.pid, call: restIssue, limit: 1 }, 1.4))
    return rows
  } finally {
    await Promise.all([http.end(), stdio.end()])
  }
}

async function toolCaller(era: Era, server: HttpServer, tool: { name: string; arguments: object }): Promise<Call> {
  const headers = await era.greet(server, tool.name)
  let id = 0
  return () => server.post({ id: ++id, method: 'tools/call', params: era.params(tool.name, tool.arguments) }, headers)
}

interface Caller {
  pid: number
  call: Call
  limit: number
}

async function comparison(measurement: string, mine: Caller, its: Caller, atMost: number): Promise<Row> {
  const [ours, other]: [number[], number[]] = [[], []]
  for (let round = -1; round < rounds; round++) {
    const [mineMs, itsMs] = [await processorMsOf(mine), await processorMsOf(its)]
    if (round < 0) continue
    ours.push(mineMs)
    other.push(itsMs)
  }
  return compare({ measurement, unit: 'ms', ours, other, goal: { atMost } })
}

async function processorMsOf({ pid, call, limit }: Caller): Promise<number> {
  const before = processorMs(pid)
  await inFlight(limit, Array.from({ length: calls }), call)
  return (processorMs(pid) - before) / calls
}
