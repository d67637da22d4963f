import { join } from 'node:path'
import { makeCards } from './parties.ts'
import { startPostgres } from './postgres-server.ts'
import { authorize, openSandbox, rateWithin, type Sandbox } from './sandbox.ts'
import { compare, type Row } from './table.ts'

const rounds = 9
const roundMs = 500
const mostPerRound = 1_500
const mostInFlight = 64
/** At full load a request may be at most so much slower for what is kept of it. */
const goal = { atLeast: 0.85 }

type Work = (sandbox: Sandbox, cardId: string) => Promise<unknown>

const works: Readonly<Record<string, Work>> = {
  authorizations: authorize,
  reads: async ({ service, request }, cardId) => (await service.fetch(request('GET', `/agent-cards/${cardId}`))).text(),
}

/** Requests with what runs keep of them and without, in turn: what the console's entries cost whoever nobody watches. */
export async function measureRuns(directory: string): Promise<Row[]> {
  const server = await startPostgres(directory)
  try {
    const urls = {
      SQLite: ['runs', 'no-runs'].map((name) => `sqlite:${join(directory, `${name}.sqlite`)}`),
      PostgreSQL: [await server.createDatabase('runs'), await server.createDatabase('no_runs')],
    }
    const rows: Row[] = []
    for (const [dialect, [kept = '', unkept = '']] of Object.entries(urls)) {
      const sandboxes = [await openSandbox(kept), await openSandbox(unkept, undefined, false)]
      for (const [name, work] of Object.entries(works)) {
        const measurement = `${name}, ${dialect}, 64 in flight: with entries of their run against without`
        rows.push(compare({ measurement, unit: '/s', ...(await rates(sandboxes, work)), goal }))
      }
      for (const sandbox of sandboxes) await sandbox.close()
    }
    return rows
  } finally {
    await server.stop()
  }
}

/** The rates of both in rounds that follow each other, each of them first in every other round; all is written in its round. */
async function rates(sandboxes: readonly Sandbox[], work: Work): Promise<{ ours: number[]; other: number[] }> {
  const made = await Promise.all(
    sandboxes.map(async (sandbox, index) => {
      return { index, sandbox, cards: await makeCards(sandbox, (rounds + 1) * mostPerRound) }
    }),
  )
  const found: number[][] = [[], []]
  for (let round = -1; round < rounds; round++) {
    for (const { index, sandbox, cards } of round % 2 === 0 ? made : made.toReversed()) {
      await sandbox.service.runLog.flush()
      const one = () => work(sandbox, cards.pop() ?? '')
      const rate = await rateWithin(roundMs, mostInFlight, Array.from({ length: mostPerRound }), one)
      if (round >= 0) found[index]?.push(rate)
    }
  }
  const [ours = [], other = []] = found
  return { ours, other }
}
