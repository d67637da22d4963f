import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { authorization, baselineRows, baselineTables, type Rows } from './authorization-baseline.ts'
import { makeCards } from './parties.ts'
import { authorize, inFlight, openSandbox, perSecond } from './sandbox.ts'
import { compare, type Goal, type Row } from './table.ts'

const rounds = 7
const sequentialPerRound = 250
const inFlightPerRound = 640
const mostInFlight = 64

/** Authorizations per second of the service on a SQLite file, against the baseline's statements on bare `node:sqlite`. */
export async function measureSqliteAuthorizations(directory: string): Promise<Row[]> {
  const cards = (rounds + 1) * (sequentialPerRound + inFlightPerRound)
  const ours = await openSandbox(`sqlite:${join(directory, 'ours.sqlite')}`)
  const bare = openBare(join(directory, 'bare.sqlite'), cards)
  try {
    const ourCards = await makeCards(ours, cards)
    const samples = {
      sequential: [] as number[],
      bare: [] as number[],
      inFlight: [] as number[],
      grouped: [] as number[],
    }
    const ourRate = (count: number, limit: number) =>
      perSecond(count, () => inFlight(limit, ourCards.splice(0, count), (cardId) => authorize(ours, cardId)))
    for (let round = -1; round < rounds; round++) {
      const sequential = await ourRate(sequentialPerRound, 1)
      const one = await perSecond(sequentialPerRound, () => bare.authorize(sequentialPerRound, 1))
      const many = await ourRate(inFlightPerRound, mostInFlight)
      const grouped = await perSecond(inFlightPerRound, () => bare.authorize(inFlightPerRound, mostInFlight))
      if (round < 0) continue
      samples.sequential.push(sequential)
      samples.bare.push(one)
      samples.inFlight.push(many)
      samples.grouped.push(grouped)
    }
    const row = (mode: string, against: string, our: number[], other: number[], goal?: Goal) => {
      const measurement = `authorizations, SQLite, ${mode}, against ${against}`
      return compare({ measurement, unit: '/s', ours: our, other, ...(goal === undefined ? {} : { goal }) })
    }
    const goal = { atLeast: 0.4 }
    return [
      row('sequential', 'bare node:sqlite', samples.sequential, samples.bare, goal),
      row('64 in flight', 'bare node:sqlite', samples.inFlight, samples.bare, goal),
      row('64 in flight', 'bare with 64 in one commit', samples.inFlight, samples.grouped),
    ]
  } finally {
    bare.close()
    await ours.close()
  }
}

/** The statements by hand: prepared once, each authorization a transaction with a commit of its own, or `perCommit`. */
function openBare(path: string, cardCount: number) {
  const database = new DatabaseSync(path)
  // As src/service/store/engine/sqlite.ts sets them.
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma temp_store = memory;
    pragma cache_size = -16000;
  `)
  database.exec(baselineTables)
  const { callers, statements: insertions } = baselineRows([cardCount])
  const [caller] = callers
  if (caller === undefined) throw new Error('Bug: the baseline has no caller.')
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string) => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  const authorizeOne = (cardId: string) => {
    const steps = authorization(caller, cardId)
    let rows: Rows = []
    for (let step = steps.next(); !step.done; step = steps.next(rows)) {
      const { sql, parameters, lock } = step.value
      if (lock) continue
      if (sql.startsWith('select')) rows = prepared(sql).all(...parameters) as Rows
      else if (prepared(sql).run(...parameters).changes < 1) throw new Error(`Nothing changed: ${sql}`)
    }
  }
  const inTransaction = (work: () => void) => {
    prepared('begin immediate').run()
    work()
    prepared('commit').run()
  }
  inTransaction(() => {
    for (const { sql, parameters } of insertions) database.prepare(sql).run(...parameters)
  })
  return {
    authorize(count: number, perCommit: number) {
      const cards = caller.cards.splice(0, count)
      for (let start = 0; start < cards.length; start += perCommit) {
        inTransaction(() => cards.slice(start, start + perCommit).forEach(authorizeOne))
      }
    },
    close: () => database.close(),
  }
}
