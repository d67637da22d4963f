import { join } from 'node:path'
import type { Store, Transaction } from '../src/service/store/engine/store.ts'
import { makeCards } from './parties.ts'
import { startPostgres } from './postgres-server.ts'
import { authorize, openSandbox, rateWithin } from './sandbox.ts'
import { compare, type Row } from './table.ts'

const rounds = 9
const roundMs = 500
const mostPerRound = 1_500
const mostInFlight = 64
/** At full load a wallet may be at most so much slower for the events of what happens at it. */
const goal = { atLeast: 0.95 }

/** Authorizations on one wallet with their events and without, in turn: what the outbox costs. */
export async function measureEvents(directory: string): Promise<Row[]> {
  const server = await startPostgres(directory)
  try {
    const urls = {
      SQLite: ['events', 'none'].map((name) => `sqlite:${join(directory, `${name}.sqlite`)}`),
      PostgreSQL: [await server.createDatabase('events'), await server.createDatabase('none')],
    }
    const rows: Row[] = []
    for (const [dialect, [told = '', untold = '']] of Object.entries(urls)) {
      const measurement = `authorizations on one wallet, ${dialect}, 64 in flight: with their events against without`
      rows.push(compare({ measurement, unit: '/s', ...(await rates(told, untold)), goal }))
    }
    return rows
  } finally {
    await server.stop()
  }
}

/** The rates of both in rounds that follow each other, each of them first in every other round. */
async function rates(told: string, untold: string): Promise<{ ours: number[]; other: number[] }> {
  const sandboxes = [await openSandbox(told), await openSandbox(untold, withoutEvents)]
  try {
    const works = await Promise.all(
      sandboxes.map(async (sandbox, index) => {
        const cards = await makeCards(sandbox, (rounds + 1) * mostPerRound)
        return { index, work: () => authorize(sandbox, cards.pop() ?? '') }
      }),
    )
    const found: number[][] = [[], []]
    for (let round = -1; round < rounds; round++) {
      for (const { index, work } of round % 2 === 0 ? works : works.toReversed()) {
        const rate = await rateWithin(roundMs, mostInFlight, Array.from({ length: mostPerRound }), work)
        if (round >= 0) found[index]?.push(rate)
      }
    }
    const [ours = [], other = []] = found
    return { ours, other }
  } finally {
    for (const sandbox of sandboxes) await sandbox.close()
  }
}

/** A store whose transactions write no events: what they leave for their end is not written. */
function withoutEvents(store: Store): Store {
  return {
    dialect: store.dialect,
    clock: store.clock,
    settling: store.settling,
    transaction: (work, options) => {
      const silently = (tx: Transaction) => {
        tx.atEnd = () => {}
        return work(tx)
      }
      return store.transaction(silently, options)
    },
    aside: (work) => store.aside(work),
    read: (work) => store.read(work),
    close: () => store.close(),
  }
}
