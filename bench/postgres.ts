import { join } from 'node:path'
import pg from 'pg'
import { authorization, baselineRows, baselineTables, type Caller, type Rows } from './baseline.ts'
import { measureCrowds, measureHotWallet } from './hot-wallet.ts'
import { type Databases, startPostgres } from './postgres-server.ts'
import { authorize, issueCard, makeBuyers, makeCards, openSandbox, rateWithin, type Sandbox } from './sandbox.ts'
import { compare, inTurns, measureMs, percentile, type Row } from './table.ts'

/** Measures authorizations on PostgreSQL, and compares them with bare statements and with SQLite. */
export async function measurePostgres(directory: string): Promise<Row[]> {
  const server = await startPostgres(directory)
  const databases = async (name: string): Promise<Databases> => {
    return { sqlite: `sqlite:${join(directory, name)}.sqlite`, postgres: await server.createDatabase(name) }
  }
  try {
    return [
      ...(await measureParties(await server.createDatabase('ours'), await server.createDatabase('bare'))),
      ...(await measureHotWallet(await databases('hot'), await databases('hot_http'))),
      ...(await measureCrowds(await databases('crowd'))),
      ...(await measureQuietParty(await databases('quiet'))),
    ]
  } finally {
    await server.stop()
  }
}

const rounds = 4
const roundMs = 400
/** The number of connections in the baseline's pool. This number stays the same even if the service's pool changes. */
const connections = 10

/**
 * The loads to compare. `limit` is the number of calls in flight; `count` is the maximum number of calls in a round.
 */
const loads = [
  { mode: 'one party, sequential', parties: 1, limit: 1, count: 200, goal: { atLeast: 0.8 } },
  { mode: 'one party, 64 in flight', parties: 1, limit: 64, count: 800, goal: undefined },
  { mode: '64 parties, 64 in flight', parties: 64, limit: 64, count: 800, goal: { atLeast: 3 } },
]

/**
 * Compares the service with the baseline, which runs only SQL statements on bare `pg`: how many authorizations per
 * second each of them makes.
 */
async function measureParties(oursUrl: string, bareUrl: string): Promise<Row[]> {
  const ours = await openSandbox(oursUrl)
  const bare = await openBare(bareUrl)
  try {
    const buyers: Buyers<string> = []
    for (const [party, { key }] of (await makeBuyers(ours, maxParties)).entries()) {
      buyers.push({ who: key, cards: await makeCards(ours, cardsNeeded(party), key) })
    }
    const rows: Row[] = []
    for (const { mode, parties, limit, count, goal } of loads) {
      const [mine, other] = await inTurns(rounds, [
        () => rateWithin(roundMs, limit, draw(buyers, parties, count), ({ who, id }) => authorize(ours, id, who)),
        () => rateWithin(roundMs, limit, draw(bare.buyers, parties, count), ({ who, id }) => bare.authorize(who, id)),
      ])
      const measurement = `authorizations, PostgreSQL, ${mode}, against bare pg`
      rows.push(compare({ measurement, unit: '/s', ours: mine, other, goal }))
    }
    return rows
  } finally {
    await bare.close()
    await ours.close()
  }
}

/**
 * Buyers with their unused cards. `who` is the buyer's key if the service is measured, or the buyer's `Caller` if the
 * baseline is measured.
 */
type Buyers<Who> = { who: Who; cards: string[] }[]

const maxParties = Math.max(...loads.map(({ parties }) => parties))
/**
 * Returns how many cards the party with the given index needs. Parties with low indexes need more, because they take
 * part in more loads.
 */
function cardsNeeded(party: number): number {
  const shares = loads.map(({ parties, count }) => (party < parties ? Math.ceil(count / parties) : 0))
  return shares.reduce((sum, share) => sum + (rounds + 1) * share, 0)
}

/** Draws a card for each purchase of a round, from each party in turn. Returns the cards with their buyers. */
function draw<Who>(buyers: Buyers<Who>, parties: number, count: number): { who: Who; id: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const buyer = buyers[index % parties]
    const id = buyer?.cards.pop()
    if (buyer === undefined || id === undefined) throw new Error('Bug: a party is out of cards.')
    return { who: buyer.who, id }
  })
}

/**
 * Opens a connection pool for the baseline's statements. Each statement takes a round trip to PostgreSQL. A lock
 * serializes a party's transactions.
 */
async function openBare(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  // Ignores connection errors, because the server may close connections when it stops. Queries still report errors.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  await pool.query(baselineTables)
  const { callers, statements } = baselineRows(Array.from({ length: maxParties }, (_, party) => cardsNeeded(party)))
  for (const { sql, parameters } of statements) await pool.query(withPlaceholders(sql), parameters)
  return {
    buyers: callers.map((who): Buyers<Caller>[number] => ({ who, cards: who.cards })),
    async authorize(caller: Caller, cardId: string) {
      const client = await pool.connect()
      try {
        await client.query('begin isolation level read committed')
        const steps = authorization(caller, cardId)
        let rows: Rows = []
        for (let step = steps.next(); !step.done; step = steps.next(rows)) {
          const { sql, parameters } = step.value
          const result = await client.query(withPlaceholders(sql), parameters)
          if (result.rowCount === 0 && !sql.startsWith('select')) throw new Error(`Nothing changed: ${sql}`)
          rows = result.rows
        }
        await client.query('commit')
        client.release()
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    close: () => pool.end(),
  }
}

const converted = new Map<string, string>()

/** Replaces each `?` with a PostgreSQL placeholder, such as `$1`. */
function withPlaceholders(sql: string): string {
  let count = 0
  const text = converted.get(sql) ?? sql.replaceAll('?', () => `$${++count}`)
  converted.set(sql, text)
  return text
}

const quietCalls = 60
const hotInFlight = 64

/** Compares the slowest calls of a quiet party with and without a second, hot party, which has 64 calls in flight. */
async function measureQuietParty({ postgres, sqlite }: Databases): Promise<Row[]> {
  const rows: Row[] = []
  for (const [dialect, url] of Object.entries({ PostgreSQL: postgres, SQLite: sqlite })) {
    const sandbox = await openSandbox(url)
    const [quiet, hot] = await makeBuyers(sandbox, 2)
    const [together, alone] = await inTurns(rounds, [
      async () => {
        let stopped = false
        const load = Array.from({ length: hotInFlight }, async () => {
          while (!stopped) await authorize(sandbox, await issueCard(sandbox, hot?.key), hot?.key)
        })
        const slowest = await measureP99(sandbox, quiet?.key)
        stopped = true
        await Promise.all(load)
        return slowest
      },
      () => measureP99(sandbox, quiet?.key),
    ])
    await sandbox.close()
    const measurement = `p99 of a quiet party's authorizations beside a hot party, ${dialect}, against those without a hot party`
    rows.push(compare({ measurement, unit: 'ms', ours: together, other: alone, goal: { atMost: 3 } }))
  }
  return rows
}

/** Authorizes purchases one after another. Returns the 99th percentile of their durations, in milliseconds. */
async function measureP99(sandbox: Sandbox, key: string | undefined): Promise<number> {
  const tookMs: number[] = []
  for (const cardId of await makeCards(sandbox, quietCalls, key)) {
    tookMs.push(await measureMs(() => authorize(sandbox, cardId, key)))
  }
  return percentile(tookMs, 0.99)
}
