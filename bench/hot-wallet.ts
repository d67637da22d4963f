import { Worker } from 'node:worker_threads'
import { makeCards } from './parties.ts'
import type { Databases } from './postgres-server.ts'
import { type RestServer, startRestServer } from './rest-server.ts'
import { authorize, inFlight, openSandbox, rateWithin } from './sandbox.ts'
import { compare, judged, type Row } from './table.ts'

const rounds = 4
const roundMs = 400
const mostPerRound = 1_200
const mostInFlight = 64
const goal = { atLeast: 0.5 }

/** Authorizations on one wallet, on PostgreSQL and on SQLite, in process and over HTTP. */
export async function measureHotWallet(inProcess: Databases, overHttp: Databases): Promise<Row[]> {
  const row = (where: string) => `authorizations on one wallet, ${where}, 64 in flight: PostgreSQL against SQLite`
  return [
    compare({ measurement: row('in process'), unit: '/s', ...(await ratesInProcess(inProcess)), goal }),
    compare({ measurement: row('over HTTP'), unit: '/s', ...(await ratesOverHttp(overHttp)), goal }),
  ]
}

const cardCount = (rounds + 1) * mostPerRound

async function ratesInProcess({ sqlite, postgres }: Databases) {
  const sandboxes = [await openSandbox(postgres), await openSandbox(sqlite)]
  try {
    const open = sandboxes.map(async (sandbox) => {
      const cards = await makeCards(sandbox, cardCount)
      return () => authorize(sandbox, cards.pop() ?? '')
    })
    return await alternating(await Promise.all(open))
  } finally {
    for (const sandbox of sandboxes) await sandbox.close()
  }
}

async function ratesOverHttp({ sqlite, postgres }: Databases) {
  const servers = [await startRestServer(postgres, cardCount), await startRestServer(sqlite, cardCount)]
  try {
    return await alternating(servers.map((server) => server.authorizeNext))
  } finally {
    for (const server of servers) await server.end()
  }
}

/** The rates of both in rounds that follow each other. */
async function alternating(works: readonly (() => Promise<void>)[]): Promise<{ ours: number[]; other: number[] }> {
  const rates: number[][] = works.map(() => [])
  for (let round = -1; round < rounds; round++) {
    for (const [index, work] of works.entries()) {
      const rate = await rateWithin(roundMs, mostInFlight, Array.from({ length: mostPerRound }), work)
      if (round >= 0) rates[index]?.push(rate)
    }
  }
  const [ours = [], other = []] = rates
  return { ours, other }
}

const crowd = 2_000

/** So many authorizations at once on one wallet: how many are carried out, and how long the health's answers take meanwhile. */
export async function measureCrowds({ sqlite, postgres }: Databases): Promise<Row[]> {
  return [
    ...(await measureCrowd('PostgreSQL', await startRestServer(postgres, crowd + mostInFlight))),
    ...(await measureCrowd('SQLite', await startRestServer(sqlite, crowd + mostInFlight))),
  ]
}

async function measureCrowd(dialect: string, server: RestServer): Promise<Row[]> {
  const worker = new Worker(new URL('health-probe.ts', import.meta.url), { workerData: server.origin })
  try {
    await inFlight(1, Array.from({ length: mostInFlight }), server.authorizeNext)
    await told(worker, 'begin')
    const startedAt = performance.now()
    const results = await Promise.allSettled(Array.from({ length: crowd }, server.authorizeNext))
    const seconds = (performance.now() - startedAt) / 1000
    const { slowestMs, answers, refusals } = await told(worker, 'end')
    const refused = results.filter(({ status }) => status === 'rejected').length
    const measurement = `${crowd} authorizations at once on one wallet over HTTP, ${dialect}`
    const [unit, ratio] = ['', '']
    return [
      {
        measurement: `${measurement}: not carried out`,
        ours: String(refused),
        other: `${seconds.toFixed(1)} s`,
        ratio,
        ...judged(refused, { atMost: 0 }, unit),
      },
      {
        measurement: `${measurement}: the health's slowest answer`,
        ours: `${slowestMs.toFixed(0)} ms`,
        other: `of ${answers}, ${refusals} not ok`,
        ratio,
        ...judged(refusals === 0 ? slowestMs : Number.POSITIVE_INFINITY, { atMost: 50 }, ' ms'),
      },
    ]
  } finally {
    await worker.terminate()
    await server.end()
  }
}

interface Health {
  slowestMs: number
  answers: number
  refusals: number
}

function told(worker: Worker, message: 'begin' | 'end'): Promise<Health> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.postMessage(message)
  })
}
