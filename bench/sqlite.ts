import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { authorization, baselineRows, baselineTables, type Rows } from './baseline.ts'
import { authorize, makeCards, openSandbox, rateOf } from './sandbox.ts'
import { compare, inTurns, type Row } from './table.ts'

const rounds = 7
const [sequentialCalls, parallelCalls, maxInFlight] = [250, 640, 64]
const cardCount = (rounds + 1) * (sequentialCalls + parallelCalls)

/**
 * Compares the service with the baseline, which runs only SQL statements on bare `node:sqlite`: how many authorizations
 * per second each of them makes on a SQLite file.
 */
export async function measureSqlite(directory: string): Promise<Row[]> {
  const ours = await openSandbox(`sqlite:${join(directory, 'ours.sqlite')}`)
  const bare = openBare(join(directory, 'bare.sqlite'))
  try {
    const cards = await makeCards(ours, cardCount)
    const authorizeNext = () => authorize(ours, cards.pop() ?? '')
    const [alone, many, other] = await inTurns(rounds, [
      () => rateOf(sequentialCalls, 1, authorizeNext),
      () => rateOf(parallelCalls, maxInFlight, authorizeNext),
      () => rateOf(sequentialCalls, 1, bare.authorize),
    ])
    const row = (mode: string, samples: number[] | undefined, atLeast: number) => {
      const measurement = `authorizations, SQLite, ${mode}, against bare node:sqlite`
      return compare({ measurement, unit: '/s', ours: samples, other, goal: { atLeast } })
    }
    return [row('sequential', alone, 0.8), row('64 in flight', many, 2)]
  } finally {
    bare.close()
    await ours.close()
  }
}

/** Opens a database for the baseline's statements. Each authorization is a separate transaction. */
function openBare(path: string) {
  const database = new DatabaseSync(path)
  // src/service/store/engine/sqlite.ts has the same values for these settings.
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma temp_store = memory')
  database.exec('pragma cache_size = -16000')
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
  database.exec('begin')
  for (const { sql, parameters } of insertions) database.prepare(sql).run(...parameters)
  database.exec('commit')
  return {
    async authorize() {
      prepared('begin immediate').run()
      const steps = authorization(caller, caller.cards.pop() ?? '')
      let rows: Rows = []
      for (let step = steps.next(); !step.done; step = steps.next(rows)) {
        const { sql, parameters, lock } = step.value
        if (lock) continue
        if (sql.startsWith('select')) rows = prepared(sql).all(...parameters) as Rows
        else if (prepared(sql).run(...parameters).changes < 1) throw new Error(`The statement changed no row: ${sql}`)
      }
      prepared('commit').run()
    },
    close: () => database.close(),
  }
}
