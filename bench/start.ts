import type { Programs } from './programs.ts'
import { opening, type StdioServer } from './stdio-server.ts'
import { compare, type Row } from './table.ts'

const rounds = 15
/** They fill the file cache and the compile cache, which is written when a process ends. */
const warmUps = 3

/** From the start of the process to the answer of `initialize`, and on to that of the first tool call. */
export async function measureStart(programs: Programs): Promise<Row[]> {
  const { startOurs, startOneTool, startOneToolCached, timeBareNode } = programs
  const samples = {
    ours: [] as Start[],
    oneTool: [] as Start[],
    oneToolCached: [] as Start[],
    bareNode: [] as number[],
  }
  for (let round = -warmUps; round < rounds; round++) {
    const ours = await start(startOurs, { name: 'whoami', arguments: {} })
    const oneTool = await start(startOneTool, echo)
    const cached = await start(startOneToolCached, echo)
    const bare = await timeBareNode()
    if (round < 0) continue
    samples.ours.push(ours)
    samples.oneTool.push(oneTool)
    samples.oneToolCached.push(cached)
    samples.bareNode.push(bare)
  }
  const initialized = (starts: Start[]) => starts.map(({ initializedMs }) => initializedMs)
  const called = (starts: Start[]) => starts.map(({ calledMs }) => calledMs)
  const ours = initialized(samples.ours)
  const [oneTool, cached] = [samples.oneTool, samples.oneToolCached]
  const row = (measurement: string, other: number[], limit: number) =>
    compare({ measurement, unit: 'ms', ours, other, goal: { atMost: limit } })
  return [
    row('start to initialize, against the one-tool server', initialized(oneTool), 1.2),
    row('start to initialize, against the one-tool server with a compile cache', initialized(cached), 1.2),
    row('start to initialize, against bare node', samples.bareNode, 3),
    compare({
      measurement: 'start to the first tool call answered (database open), one-tool server with a compile cache',
      unit: 'ms',
      ours: called(samples.ours),
      other: called(cached),
    }),
  ]
}

interface Start {
  initializedMs: number
  calledMs: number
}

const echo = { name: 'echo', arguments: { text: 'hello' } }

async function start(open: () => StdioServer, call: object): Promise<Start> {
  const startedAt = performance.now()
  const server = open()
  try {
    await server.request('initialize', opening)
    const initializedMs = performance.now() - startedAt
    server.notify('notifications/initialized')
    await server.request('tools/call', call)
    return { initializedMs, calledMs: performance.now() - startedAt }
  } finally {
    await server.end()
  }
}
