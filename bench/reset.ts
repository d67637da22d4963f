import { createSandbox } from '../src/testing/sandbox.ts'
import { judged, median, type Row, summary } from './table.ts'

const rounds = 7
const resetsOfRound = 10
const goalMs = 20

/** A reset of the default world, beside what it spares: a sandbox made anew. Each on the databases that lie in a file and in memory. */
export async function measureReset(directory: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const where of ['a file', 'memory'] as const) {
    let count = 0
    const database = () => (where === 'memory' ? 'sqlite::memory:' : `sqlite:${directory}/reset-${count++}.sqlite`)
    await using kept = await createSandbox({ database: database(), port: false })
    const [ours, other]: [number[], number[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      const resets: number[] = []
      for (let reset = 0; reset < resetsOfRound; reset++) {
        await used(kept)
        resets.push(await timed(() => kept.reset()))
      }
      ours.push(median(resets))
      other.push(
        await timed(async () => {
          await using made = await createSandbox({ database: database(), port: false })
          await made.fetch('/whoami', { headers: { Authorization: `Bearer ${made.keys.api}` } })
        }),
      )
    }
    const ratio = median(ours.map((sample, round) => sample / (other[round] ?? Number.NaN)))
    rows.push({
      measurement: `reset of the default world in ${where}, a sandbox made anew beside it`,
      ours: summary(ours, 'ms'),
      other: summary(other, 'ms'),
      ratio: ratio.toFixed(2),
      ...judged(median(ours), { atMost: goalMs }, ' ms'),
    })
  }
  return rows
}

type Sandbox = Awaited<ReturnType<typeof createSandbox>>

/** Something to put back: a card and its purchase. */
async function used({ fetch, keys }: Sandbox): Promise<void> {
  const send = async (path: string, attributes: object) => {
    const answer = await fetch(path, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${keys.agent}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': crypto.randomUUID(),
        'X-Instance-ID': 'bench',
      },
      body: JSON.stringify({ data: { attributes } }),
    })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return ((await answer.json()) as { data: { id: string } }).data.id
  }
  const money = { currency: 'USD', merchant: { name: 'Bench' } }
  const card = await send('/agent-cards', { ...money, maximumAmount: 500 })
  await send(`/simulations/agent-cards/${card}/authorize`, { ...money, amount: 100 })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
