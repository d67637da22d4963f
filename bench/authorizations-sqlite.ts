import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { authorization, authorizationRequest, type Caller, callerQuery, type Rows } from './authorization-statements.ts'
import { inFlight, openSandbox, perSecond, type Sandbox } from './sandbox.ts'
import { compare, type Goal, type Row } from './table.ts'

const rounds = 7
const sequentialPerRound = 250
const inFlightPerRound = 640
const mostInFlight = 64

/** Authorizations per second of the service on a SQLite file, against its statements on bare `node:sqlite`. */
export async function measureSqliteAuthorizations(directory: string): Promise<Row[]> {
  const files = { ours: join(directory, 'ours.sqlite'), bare: join(directory, 'bare.sqlite') }
  const cards = (rounds + 1) * (sequentialPerRound + inFlightPerRound)
  const theirs = await openSandbox(`sqlite:${files.bare}`)
  const bareCards = await issueCards(theirs, cards)
  await theirs.close()
  const ours = await openSandbox(`sqlite:${files.ours}`)
  const bare = openBare(files.bare)
  try {
    const ourCards = await issueCards(ours, cards)
    const samples = {
      sequential: [] as number[],
      bare: [] as number[],
      inFlight: [] as number[],
      grouped: [] as number[],
    }
    for (let round = -1; round < rounds; round++) {
      const mine = (count: number) => ourCards.splice(0, count)
      const its = (count: number) => bareCards.splice(0, count)
      const sequential = await authorizationsPerSecond(ours, mine(sequentialPerRound), 1)
      const one = await perSecond(sequentialPerRound, () => bare.authorize(its(sequentialPerRound), 1))
      const many = await authorizationsPerSecond(ours, mine(inFlightPerRound), mostInFlight)
      const grouped = await perSecond(inFlightPerRound, () => bare.authorize(its(inFlightPerRound), mostInFlight))
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

export async function issueCards(sandbox: Sandbox, count: number): Promise<string[]> {
  const cards: string[] = []
  await inFlight(64, Array.from({ length: count }), async () => cards.push(await sandbox.issueCard()))
  return cards
}

export function authorizationsPerSecond(sandbox: Sandbox, cards: readonly string[], limit: number): Promise<number> {
  return perSecond(cards.length, () =>
    inFlight(limit, cards, async (cardId) => {
      const response = await sandbox.service.fetch(authorizationRequest(sandbox, cardId))
      const text = await response.text()
      if (!text.includes('"status":"authorized"')) throw new Error(text)
    }),
  )
}

/** The statements by hand: prepared once, each authorization a transaction with a commit of its own, or `perCommit`. */
function openBare(path: string) {
  const database = new DatabaseSync(path)
  // As src/service/store/engine/sqlite.ts sets them.
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma temp_store = memory;
    pragma cache_size = -16000;
  `)
  const caller = database.prepare(callerQuery).get() as unknown as Caller
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
  return {
    authorize(cards: readonly string[], perCommit: number) {
      for (let start = 0; start < cards.length; start += perCommit) {
        prepared('begin immediate').run()
        for (const cardId of cards.slice(start, start + perCommit)) authorizeOne(cardId)
        prepared('commit').run()
      }
    },
    close: () => database.close(),
  }
}
