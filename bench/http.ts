import { type Era, eras, openSession } from './eras.ts'
import type { HttpServer } from './http-server.ts'
import type { Programs } from './programs.ts'
import { cardAttributes, inFlight } from './sandbox.ts'
import { compare, judged, median, percentile, type Row, summary } from './table.ts'

const rounds = 5
const calls = 1_500
const limit = 64
const hosts = 1_000

/** Calls over HTTP: ours are authorized and each issues a card, durably; those of the SDK's one-tool server echo a text. */
export async function measureHttp(programs: Programs): Promise<Row[]> {
  const [ours, oneTool] = [await programs.startOursHttp(), await programs.startOneToolHttp()]
  try {
    const rows: Row[] = []
    for (const era of eras) rows.push(...(await measureEra(era, ours, oneTool)))
    rows.push(...(await measureHosts(ours)))
    return rows
  } finally {
    await Promise.all([ours.end(), oneTool.end()])
  }
}

async function measureEra(era: Era, ours: HttpServer, oneTool: HttpServer): Promise<Row[]> {
  const samples = { ours: [] as number[], oneTool: [] as number[] }
  let latencies: number[] = []
  for (let round = -1; round < rounds; round++) {
    const mine = await callsPerSecond(era, ours, 'issue_agent_card', cardAttributes)
    const its = await callsPerSecond(era, oneTool, 'echo', { text: 'hello' })
    if (round < 0) continue
    samples.ours.push(mine.perSecond)
    samples.oneTool.push(its.perSecond)
    latencies = mine.latenciesMs
  }
  const measurement = `tool calls over HTTP, ${era.name}, 64 in flight: issue_agent_card against echo`
  return [
    compare({
      measurement,
      unit: '/s',
      ours: samples.ours,
      other: samples.oneTool,
      goal: { atLeast: era.atLeastOfEcho },
    }),
    {
      measurement: `latency of these calls, ${era.name}: p50, p95, p99`,
      ours: [0.5, 0.95, 0.99].map((share) => percentile(latencies, share).toFixed(1)).join(' / ') + ' ms',
      other: '',
      ratio: '',
      ...judged(0),
    },
  ]
}

async function callsPerSecond(era: Era, server: HttpServer, tool: string, input: object) {
  const headers = await era.greet(server, tool)
  const params = era.params(tool, input)
  const latenciesMs: number[] = []
  const startedAt = performance.now()
  const ids = Array.from({ length: calls }, (_, index) => index + 1)
  await inFlight(limit, ids, async (id) => {
    const sentAt = performance.now()
    await server.post({ id, method: 'tools/call', params }, headers)
    latenciesMs.push(performance.now() - sentAt)
  })
  return { perSecond: calls / ((performance.now() - startedAt) / 1000), latenciesMs }
}

/** A thousand hosts, each with a session and its event stream open: what they take, and how a call fares among them. */
async function measureHosts(server: HttpServer): Promise<Row[]> {
  const before = server.residentMegabytes()
  const startedAt = performance.now()
  let headers: Record<string, string> = {}
  await inFlight(limit, Array.from({ length: hosts }), async () => {
    headers = await openSession(server)
    await server.listen(headers)
  })
  const seconds = (performance.now() - startedAt) / 1000
  const kilobytes = ((server.residentMegabytes() - before) * 1024) / hosts
  const tookMs: number[] = []
  for (let id = 1; id <= 100; id++) {
    const sentAt = performance.now()
    await server.post({ id, method: 'tools/call', params: { name: 'whoami', arguments: {} } }, headers)
    tookMs.push(performance.now() - sentAt)
  }
  return [
    {
      measurement: `${hosts} connected hosts with open streams: resident memory of each`,
      ours: `${kilobytes.toFixed(0)} kB`,
      other: '',
      ratio: `${(hosts / seconds).toFixed(0)} opened/s`,
      ...judged(0),
    },
    {
      measurement: `a call (whoami) among ${hosts} connected hosts`,
      ours: summary(tookMs, 'ms'),
      other: '',
      ratio: '',
      ...judged(median(tookMs)),
    },
  ]
}
