import { join } from 'node:path'
import { sql } from 'kysely'
import { makeBuyers } from './parties.ts'
import { startPostgres } from './postgres-server.ts'
import { authorize, openSandbox, type Sandbox } from './sandbox.ts'
import { judged, percentile, type Row } from './table.ts'

const manyHolds = 100_000
/** On PostgreSQL each takes several times as long. */
const fewerHolds = 2_000
const weekSeconds = 7 * 24 * 60 * 60

/**
 * One jump of the clock over many holds of one party: how long it keeps the process's thread at the most, how many lapse a
 * second, and how long another party's new card takes meanwhile and alone.
 */
export async function measureClockJump(directory: string): Promise<Row[]> {
  const rows = await jump('SQLite', `sqlite:${join(directory, 'clock jump.sqlite')}`, manyHolds)
  const server = await startPostgres(directory)
  try {
    return [...rows, ...(await jump('PostgreSQL', await server.createDatabase('clock_jump'), fewerHolds))]
  } finally {
    await server.stop()
  }
}

async function jump(name: string, url: string, holds: number): Promise<Row[]> {
  const sandbox = await openSandbox(url)
  try {
    const [holder, other] = await makeBuyers(sandbox, 2)
    if (holder === undefined || other === undefined) throw new Error('Bug: there are two buyers.')
    await authorize(sandbox, await sandbox.issueCard(holder.key), holder.key)
    await cloneHold(sandbox, holder.partyId, holds)
    let count = 0
    const alone = await writes(sandbox, other.key, () => count++ < 200)
    const turns = watchTurns()
    const startedAt = performance.now()
    let jumping = true
    const advance = sandbox.request('POST', '/simulations/clock/advance', { seconds: weekSeconds + 1 }, holder.key)
    const answered = sandbox.service.fetch(advance).then(async (response) => {
      jumping = false
      if (!response.ok) throw new Error(await response.text())
      return performance.now() - startedAt
    })
    const meanwhile = await writes(sandbox, other.key, () => jumping)
    const tookMs = await answered
    const longestMs = turns.stop()
    const [beside, before] = [percentile(meanwhile, 0.99), percentile(alone, 0.99)]
    return [
      {
        measurement: `a clock jump over ${holds} holds, ${name}: the longest that it keeps the thread, holds lapsed a second`,
        ours: `${longestMs.toFixed(0)} ms`,
        other: `${(holds / (tookMs / 1000)).toFixed(0)} /s`,
        ratio: '',
        ...judged(longestMs, { atMost: 20 }, ' ms'),
      },
      {
        measurement: `another party's card beside it, against alone, ${name}: p99 of ${meanwhile.length}`,
        ours: `${beside.toFixed(1)} ms`,
        other: `${before.toFixed(1)} ms`,
        ratio: (beside / before).toFixed(2),
        goal: '',
        reached: '',
      },
    ]
  } finally {
    await sandbox.close()
  }
}

/** Gives the most processor time, in ms, that the thread took between two turns of the event loop: others' load is not in it. */
function watchTurns() {
  let [longestMs, watching] = [0, true]
  let before = process.threadCpuUsage()
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1000)
    before = process.threadCpuUsage()
    if (watching) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    stop: () => {
      watching = false
      return longestMs
    },
  }
}

/** The times of writes one after another, as long as it is to go on. */
async function writes(sandbox: Sandbox, key: string, goesOn: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (goesOn()) {
    const startedAt = performance.now()
    await sandbox.issueCard(key)
    times.push(performance.now() - startedAt)
  }
  return times
}

/** As many holds as are to lapse, each some milliseconds after the one before, and what they hold in the wallet. */
async function cloneHold({ store }: Sandbox, partyId: string, holds: number): Promise<void> {
  await store.transaction(async ({ db }) => {
    const one = await db
      .selectFrom('cardTransactions')
      .selectAll()
      .where('partyId', '=', partyId)
      .executeTakeFirstOrThrow()
    for (let first = 1; first < holds; first += 1000) {
      const rows = Array.from({ length: Math.min(1000, holds - first) }, (_, index) => {
        const number = first + index
        return { ...one, id: `${one.id}_${number}`, holdExpiresAtMs: (one.holdExpiresAtMs ?? 0) - 5 * number }
      })
      await db.insertInto('cardTransactions').values(rows).execute()
    }
    const held = one.heldCents * (holds - 1)
    await db
      .updateTable('wallets')
      .set({ heldCents: sql<number>`${sql.ref('heldCents')} + ${held}` })
      .where('id', '=', one.walletId)
      .execute()
  })
}
