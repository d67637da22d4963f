import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from './postgres-server.ts'
import { processorMs } from './process-figures.ts'
import { type RestServer, startRestServer } from './rest-server.ts'
import { inFlight, perSecond } from './sandbox.ts'
import { compare, type Row } from './table.ts'

const watchers = 100
const rounds = 4
const callsOfRound = 4_000
const callsInFlight = 32

const pages = [
  { name: 'the run in which they happen', path: 'run' },
  { name: 'the money that they move', path: '/console/money' },
  { name: 'the sandbox', path: '/console/sandbox' },
] as const

type Page = (typeof pages)[number]

/**
 * How much less a service gets done while a hundred browsers watch it, and how much more it computes for each call. Each
 * browser does what the page does: it reads its stream, which shows it what is new, or asks for it. They all are one
 * process of their own, which shares the machine's cores with the service: the throughput has its cost in it too, what the
 * service computes has not.
 */
export async function measureWatchers(directory: string): Promise<Row[]> {
  const postgres = await startPostgres(directory)
  try {
    const rows: Row[] = []
    for (const [at, page] of pages.entries()) {
      const sqlite = `sqlite:${join(directory, `watchers-${at}.sqlite`)}`
      rows.push(...(await measurePage({ dialect: 'SQLite', url: sqlite }, page)))
      const database = await postgres.createDatabase(`watchers_${at}`)
      rows.push(...(await measurePage({ dialect: 'PostgreSQL', url: database }, page)))
    }
    return rows
  } finally {
    await postgres.stop()
  }
}

interface On {
  dialect: string
  url: string
}

async function measurePage({ dialect, url }: On, { name, path }: Page): Promise<Row[]> {
  const server = await startRestServer(url, callsOfRound * (rounds + 1) * 2)
  const watched: Round[] = []
  const alone: Round[] = []
  let told = 0
  try {
    for (let round = -1; round < rounds; round++) {
      const without = await callsOf(server)
      const crowd = await startWatching(server.origin, path)
      const within = await callsOf(server)
      const messages = await endWatching(crowd)
      if (round < 0) continue
      alone.push(without)
      watched.push(within)
      told += messages
    }
  } finally {
    await server.end()
  }
  // Watchers that were told nothing cost nothing.
  if (told < watchers * rounds) throw new Error(`The watchers were told something only ${told} times.`)
  const of = (samples: readonly Round[], figure: keyof Round) => samples.map((round) => round[figure])
  const what = `authorizations while ${watchers} browsers watch ${name}, ${dialect}, against nobody`
  return [
    compare({
      ...{ measurement: `${what} (told of it ${told} times)`, unit: '/s', goal: { atLeast: 0.95 } },
      ...{ ours: of(watched, 'perSecond'), other: of(alone, 'perSecond') },
    }),
    compare({
      ...{ measurement: `processor time of the service for each of these ${what}`, unit: 'ms' },
      ...{ ours: of(watched, 'processorMs'), other: of(alone, 'processorMs') },
    }),
  ]
}

interface Round {
  perSecond: number
  /** What the service computed for each call, all its threads together. */
  processorMs: number
}

async function callsOf(server: RestServer): Promise<Round> {
  const calls = Array.from({ length: callsOfRound })
  const before = processorMs(server.pid)
  const each = await perSecond(calls.length, () => inFlight(callsInFlight, calls, () => server.authorizeNext()))
  return { perSecond: each, processorMs: (processorMs(server.pid) - before) / callsOfRound }
}

/** Resolves when all streams are open. */
async function startWatching(origin: string, page: string): Promise<ChildProcess> {
  const crowd = fork(fileURLToPath(new URL('watching.ts', import.meta.url)), [origin, String(watchers), page])
  const [message] = await Promise.race([once(crowd, 'message'), once(crowd, 'exit')])
  if (message !== 'watching') throw new Error(`The watchers ended with ${message}.`)
  return crowd
}

/** How many times they all were told of a part of the page. */
async function endWatching(crowd: ChildProcess): Promise<number> {
  const counted = once(crowd, 'message')
  crowd.send('leave')
  const [count] = await counted
  return Number(count)
}
