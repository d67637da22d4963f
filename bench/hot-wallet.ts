import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Databases } from './postgres-server.ts'
import { startHttpServer } from './processes.ts'
import { agentKey, authorize, makeCards, openSandbox, purchase, rateOf, rateWithin, serverSettings } from './sandbox.ts'
import { compare, inTurns, judge, type Row, single } from './table.ts'

const rounds = 4
const roundMs = 400
const maxPerRound = 1_200
const maxInFlight = 64
const cardCount = (rounds + 1) * maxPerRound
const crowdSize = 2_000

/** Compares PostgreSQL with SQLite for authorizations on one wallet, in process and over HTTP. */
export async function measureHotWallet(inProcess: Databases, overHttp: Databases): Promise<Row[]> {
  const sandboxes = [await openSandbox(inProcess.postgres), await openSandbox(inProcess.sqlite)]
  const works: Work[] = []
  for (const sandbox of sandboxes) {
    const cards = await makeCards(sandbox, cardCount)
    works.push(() => authorize(sandbox, cards.pop() ?? ''))
  }
  const rows = [await comparison('in process', works)]
  for (const sandbox of sandboxes) await sandbox.close()
  const servers = [await startServer(overHttp.postgres, cardCount), await startServer(overHttp.sqlite, cardCount)]
  try {
    rows.push(
      await comparison(
        'over HTTP',
        servers.map((server) => server.authorizeNext),
      ),
    )
    return rows
  } finally {
    for (const server of servers) await server.end()
  }
}

type Work = () => Promise<unknown>

async function comparison(where: string, works: readonly Work[]): Promise<Row> {
  const items = Array.from({ length: maxPerRound })
  const [ours, other] = await inTurns(
    rounds,
    works.map((work) => () => rateWithin(roundMs, maxInFlight, items, work)),
  )
  const measurement = `authorizations on one wallet, ${where}, 64 in flight: PostgreSQL against SQLite`
  return compare({ measurement, unit: '/s', ours, other, goal: { atLeast: 0.5 } })
}

/** Starts `serve` from the source code, on a new database with `count` unused cards. */
async function startServer(databaseUrl: string, count: number) {
  const sandbox = await openSandbox(databaseUrl)
  const cards = await makeCards(sandbox, count)
  await sandbox.close()
  const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
  const env = { ...serverSettings, PAYMENTS_PORT: '0', PAYMENTS_DATABASE_URL: databaseUrl }
  const server = await startHttpServer([cli, 'serve'], { env, bearer: agentKey })
  const authorizeNext = async () => {
    const text = await server.rest('POST', `/simulations/agent-cards/${cards.pop()}/authorize`, purchase)
    if (!text.includes('"status":"authorized"')) throw new Error(text)
  }
  return { ...server, authorizeNext }
}

/**
 * Sends many authorizations on one wallet at the same time and counts how many are refused. Meanwhile, measures how
 * long health checks take.
 */
export async function measureCrowds({ sqlite, postgres }: Databases): Promise<Row[]> {
  const rows: Row[] = []
  for (const [dialect, url] of Object.entries({ PostgreSQL: postgres, SQLite: sqlite })) {
    const server = await startServer(url, crowdSize + maxInFlight)
    const worker = new Worker(new URL(import.meta.url), { workerData: server.origin })
    try {
      await rateOf(maxInFlight, 1, server.authorizeNext)
      await once(worker, 'message')
      const healthMs: number[] = []
      worker.on('message', (tookMs) => healthMs.push(tookMs))
      const startedAt = performance.now()
      const results = await Promise.allSettled(Array.from({ length: crowdSize }, server.authorizeNext))
      const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
      // Waits until the health check in progress ends, so that this check is measured too.
      await once(worker, 'message')
      const refused = results.filter(({ status }) => status === 'rejected').length
      const slowest = Math.max(...healthMs)
      const measurement = `${crowdSize} authorizations at once on one wallet over HTTP, ${dialect}`
      rows.push(single(`${measurement}: number refused`, String(refused), judge(refused, { atMost: 0 }), seconds))
      const judgment = judge(slowest, { atMost: 50 }, ' ms')
      const checks = `of ${healthMs.length} checks`
      rows.push(single(`${measurement}: the slowest health check`, `${slowest.toFixed(0)} ms`, judgment, checks))
    } finally {
      await worker.terminate()
      await server.end()
    }
  }
  return rows
}

/**
 * Runs in a separate thread: checks a server's health continuously and measures how long each check takes. The thread
 * that sends the authorizations is too busy to measure times accurately.
 */
if (!isMainThread) {
  for (;;) {
    const askedAt = performance.now()
    const response = await fetch(`${workerData}/healthz`)
    await response.arrayBuffer()
    parentPort?.postMessage(response.ok ? performance.now() - askedAt : Number.POSITIVE_INFINITY)
    await sleep(5)
  }
}
