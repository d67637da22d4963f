import { join } from 'node:path'
import type { Store } from '../src/service/store/engine/store.ts'
import { startPostgres } from './postgres-server.ts'
import { authorize, makeCards, openSandbox, rateWithin, type Sandbox, send } from './sandbox.ts'
import { compare, inTurns, type Row } from './table.ts'

const rounds = 9
const roundMs = 500
const maxPerRound = 1_500
const maxInFlight = 64

type Work = (sandbox: Sandbox, cardId: string) => Promise<unknown>

/** Compares the speed of authorizations on one wallet with and without recording events, to show what events cost. */
export function measureEvents(directory: string): Promise<Row[]> {
  return measureCost(directory, {
    feature: 'events',
    openWithout: (url) => openSandbox(url, withoutEvents),
    works: { authorizations: { work: authorize, atLeast: 0.95 } },
  })
}

/**
 * Compares the speed of requests with and without run entries, which the console shows. The difference is the cost of
 * the console while nobody has it open.
 */
export function measureRuns(directory: string): Promise<Row[]> {
  const reads: Work = (sandbox, cardId) => send(sandbox, 'GET', `/agent-cards/${cardId}`)
  return measureCost(directory, {
    feature: 'run entries',
    openWithout: (url) => openSandbox(url, undefined, false),
    works: { authorizations: { work: authorize, atLeast: 0.85 }, reads: { work: reads, atLeast: 0.95 } },
  })
}

interface FeatureCost {
  feature: string
  openWithout: (url: string) => Promise<Sandbox>
  works: Readonly<Record<string, { work: Work; atLeast: number }>>
}

async function measureCost(directory: string, { feature, openWithout, works }: FeatureCost): Promise<Row[]> {
  const server = await startPostgres(directory)
  try {
    const urls = {
      SQLite: ['with', 'without'].map((name) => `sqlite:${join(directory, `${name} ${feature}.sqlite`)}`),
      PostgreSQL: [await server.createDatabase('with'), await server.createDatabase('without')],
    }
    const rows: Row[] = []
    for (const [dialect, [withUrl = '', withoutUrl = '']] of Object.entries(urls)) {
      const sandboxes = [await openSandbox(withUrl), await openWithout(withoutUrl)]
      for (const [name, { work, atLeast }] of Object.entries(works)) {
        const rates: (() => Promise<number>)[] = []
        for (const sandbox of sandboxes) rates.push(await prepareRounds(sandbox, work))
        const [ours, other] = await inTurns(rounds, rates)
        const measurement = `${name}, ${dialect}, 64 in flight: with ${feature} against without`
        rows.push(compare({ measurement, unit: '/s', ours, other, goal: { atLeast } }))
      }
      for (const sandbox of sandboxes) await sandbox.close()
    }
    return rows
  } finally {
    await server.stop()
  }
}

/** Issues cards for all rounds. Returns a function that writes the waiting run entries, then measures one round. */
async function prepareRounds(sandbox: Sandbox, work: Work): Promise<() => Promise<number>> {
  const cards = await makeCards(sandbox, (rounds + 1) * maxPerRound)
  return async () => {
    await sandbox.service.runLog.flush()
    return rateWithin(roundMs, maxInFlight, Array.from({ length: maxPerRound }), () => work(sandbox, cards.pop() ?? ''))
  }
}

/**
 * Returns a store that skips the work deferred to the end of a transaction: writing the events and the ends of the
 * activity chains.
 */
function withoutEvents(store: Store): Store {
  return {
    dialect: store.dialect,
    clock: store.clock,
    settling: store.settling,
    transaction: (work, options) =>
      store.transaction((tx) => {
        tx.atEnd = () => {}
        return work(tx)
      }, options),
    aside: (work) => store.aside(work),
    read: (work) => store.read(work),
    close: () => store.close(),
  }
}
