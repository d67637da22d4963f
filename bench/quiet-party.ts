import { makeBuyers, makeCards } from './parties.ts'
import type { Databases } from './postgres-server.ts'
import { authorize, openSandbox, type Sandbox } from './sandbox.ts'
import { compare, percentile, type Row } from './table.ts'

const rounds = 4
const quietCalls = 60
const hotInFlight = 64

/** How long the slow ones among a party's calls take, beside another party that always has 64 in flight and alone. */
export async function measureQuietParty(databases: Databases): Promise<Row[]> {
  const row = async (dialect: string, url: string) => {
    const measurement = `p99 of a quiet party's authorizations beside a hot party, ${dialect}, against alone`
    return compare({ measurement, unit: 'ms', ...(await latencies(url)), goal: { atMost: 3 } })
  }
  return [await row('PostgreSQL', databases.postgres), await row('SQLite', databases.sqlite)]
}

async function latencies(url: string): Promise<{ ours: number[]; other: number[] }> {
  const sandbox = await openSandbox(url)
  const samples = { ours: [] as number[], other: [] as number[] }
  try {
    const [quiet, hot] = await makeBuyers(sandbox, 2)
    if (quiet === undefined || hot === undefined) throw new Error('Bug: a party is missing.')
    for (let round = -1; round < rounds; round++) {
      const alone = await slowOnes(sandbox, quiet.key)
      const load = startLoad(sandbox, hot.key)
      const beside = await slowOnes(sandbox, quiet.key)
      await load.stop()
      if (round < 0) continue
      samples.ours.push(beside)
      samples.other.push(alone)
    }
  } finally {
    await sandbox.close()
  }
  return samples
}

/** The 99th percentile of the milliseconds that one call after another takes. */
async function slowOnes(sandbox: Sandbox, key: string): Promise<number> {
  const tookMs: number[] = []
  for (const cardId of await makeCards(sandbox, quietCalls, key)) {
    const calledAt = performance.now()
    await authorize(sandbox, cardId, key)
    tookMs.push(performance.now() - calledAt)
  }
  return percentile(tookMs, 0.99)
}

/** Has cards issued and their purchases authorized until it is stopped. */
function startLoad(sandbox: Sandbox, key: string) {
  let stopped = false
  const caller = async () => {
    while (!stopped) await authorize(sandbox, await sandbox.issueCard(key), key)
  }
  const callers = Promise.all(Array.from({ length: hotInFlight }, caller))
  // Whoever stops the load is told of what failed; until then it is not unhandled.
  callers.catch(() => {})
  return {
    stop: async () => {
      stopped = true
      await callers
    },
  }
}
