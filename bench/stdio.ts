import { setTimeout as sleep } from 'node:timers/promises'
import { type Programs, residentMegabytes, type StdioServer } from './processes.ts'
import { cardAttributes, rateOf } from './sandbox.ts'
import { compare, inTurns, judge, type Row, single, summary } from './table.ts'

const whoami = { name: 'whoami', arguments: {} }
const issue = { name: 'issue_agent_card', arguments: cardAttributes }
const echo = { name: 'echo', arguments: { text: 'hello' } }

/**
 * Measures the time from the start of the server's process to the answers to `initialize` and to the first tool call.
 */
export async function measureStart({ startOurs, startOneTool, timeBareNode }: Programs): Promise<Row[]> {
  const calledMs: number[][] = [[], []]
  const start = (open: () => StdioServer, call: object, called: number[] | undefined) => async () => {
    const startedAt = performance.now()
    const server = open()
    try {
      await server.greet()
      const greetedMs = performance.now() - startedAt
      await server.request('tools/call', call)
      called?.push(performance.now() - startedAt)
      return greetedMs
    } finally {
      await server.end()
    }
  }
  const works = [start(startOurs, whoami, calledMs[0]), start(startOneTool, echo, calledMs[1]), timeBareNode]
  // These starts are not measured. They fill the file cache, and the compile cache, which Node writes when a process
  // ends.
  await inTurns(2, works)
  const [ours, oneTool, bare] = await inTurns(15, works)
  const [ourCalls, oneToolCalls] = calledMs.map((samples) => samples.slice(-15))
  const row = (measurement: string, mine: number[] | undefined, other: number[] | undefined, atMost: number) =>
    compare({ measurement, unit: 'ms', ours: mine, other, goal: { atMost } })
  return [
    row('time until initialize is answered, against the one-tool server', ours, oneTool, 1.2),
    row('time until initialize is answered, against the start of bare node', ours, bare, 2.5),
    row('time until the first tool call is answered, against the one-tool server', ourCalls, oneToolCalls, 1.8),
  ]
}

const modes = [
  { name: 'sequential', limit: 1, calls: 300, goal: { atLeast: 0.5 } },
  { name: '64 in flight', limit: 64, calls: 1500, goal: undefined },
] as const

/**
 * Measures calls per second over stdio. Each call to this package's server issues a card and writes it to disk. Both
 * other servers echo a string, and the second of them also writes the string to disk.
 */
export async function measureTools(programs: Programs): Promise<Row[]> {
  const servers = [programs.startOurs(), programs.startOneTool(), programs.startOneToolDurable()]
  try {
    for (const server of servers) await server.greet()
    const rows: Row[] = []
    for (const { name, limit, calls, goal } of modes) {
      const works = servers.map((server, index) => {
        const call = () => server.request('tools/call', index === 0 ? issue : echo)
        return () => rateOf(calls, limit, call)
      })
      const [ours, oneTool, durable] = await inTurns(6, works)
      const measurement = `tool calls over stdio, ${name}: issue_agent_card against`
      const row = { unit: '/s', ours } as const
      rows.push(compare({ ...row, measurement: `${measurement} echo`, other: oneTool, goal: { atLeast: 0.5 } }))
      rows.push(compare({ ...row, measurement: `${measurement} one durable row`, other: durable, goal }))
    }
    return rows
  } finally {
    await Promise.all(servers.map((server) => server.end()))
  }
}

const idleMs = 3_000

/** Measures the memory of a server that has answered one call and has been idle since. */
export async function measureMemory({ startOurs, startOneTool }: Programs): Promise<Row[]> {
  const idle = (open: () => StdioServer, call: object) => async () => {
    const server = open()
    try {
      await server.greet()
      await server.request('tools/call', call)
      await sleep(idleMs)
      return residentMegabytes(server.pid)
    } finally {
      await server.end()
    }
  }
  const [ours = [], oneTool = []] = await inTurns(3, [idle(startOurs, whoami), idle(startOneTool, echo)])
  const judgment = judge(Math.max(...ours), { atMost: 85 }, ' MB')
  const measurement = 'resident memory when idle, against the one-tool server'
  return [single(measurement, summary(ours, 'MB'), judgment, summary(oneTool, 'MB'))]
}
