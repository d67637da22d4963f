import pg from 'pg'
import { authorization, baselineRows, baselineTables, type Caller, type Rows } from './authorization-baseline.ts'
import { makeBuyers, makeCards } from './parties.ts'
import { authorize, openSandbox, rateWithin, type Sandbox } from './sandbox.ts'
import { compare, type Goal, type Row } from './table.ts'

const rounds = 4
const roundMs = 400
/** The baseline has so many, whatever the service opens. */
const connections = 10

interface Load {
  mode: string
  parties: number
  limit: number
  /** How many authorizations a round has at most. */
  count: number
  goal?: Goal
}

const loads: readonly Load[] = [
  { mode: 'one party, sequential', parties: 1, limit: 1, count: 200, goal: { atLeast: 0.4 } },
  { mode: 'one party, 64 in flight', parties: 1, limit: 64, count: 800 },
  { mode: '4 parties, 64 in flight', parties: 4, limit: 64, count: 800 },
  { mode: '16 parties, 64 in flight', parties: 16, limit: 64, count: 800 },
  { mode: '64 parties, 64 in flight', parties: 64, limit: 64, count: 800, goal: { atLeast: 3 } },
]

/** Authorizations per second of the service on PostgreSQL, against the baseline's statements on bare `pg`. */
export async function measurePartiesOnPostgres(oursUrl: string, bareUrl: string): Promise<Row[]> {
  const ours = await openSandbox(oursUrl)
  const bare = await openBare(bareUrl)
  try {
    const [ourPurchases, itsPurchases] = [await purchasesOf(ours), bare.purchases]
    const rows: Row[] = []
    for (const { mode, parties, limit, count, goal } of loads) {
      const samples = { ours: [] as number[], other: [] as number[] }
      for (let round = -1; round < rounds; round++) {
        const ourRound = spread(ourPurchases, parties, count)
        const itsRound = spread(itsPurchases, parties, count)
        const mine = await rateWithin(roundMs, limit, ourRound, ({ who, cardId }) => authorize(ours, cardId, who))
        const other = await rateWithin(roundMs, limit, itsRound, ({ who, cardId }) => bare.authorize(who, cardId))
        if (round < 0) continue
        samples.ours.push(mine)
        samples.other.push(other)
      }
      const measurement = `authorizations, PostgreSQL, ${mode}, against bare pg`
      rows.push(compare({ measurement, unit: '/s', ...samples, ...(goal === undefined ? {} : { goal }) }))
    }
    return rows
  } finally {
    await bare.close()
    await ours.close()
  }
}

/** Who can buy something, and the cards they can buy with. */
type Purchases<Who> = { who: Who; cards: string[] }[]

const mostParties = Math.max(...loads.map(({ parties }) => parties))
/** What the party of that number needs: the first ones take part in more loads than the others. */
function cardsOf(party: number): number {
  const shares = loads.map(({ parties, count }) => (party < parties ? Math.ceil(count / parties) : 0))
  return shares.reduce((sum, share) => sum + (rounds + 1) * share, 0)
}

async function purchasesOf(sandbox: Sandbox): Promise<Purchases<string>> {
  const purchases: Purchases<string> = []
  for (const [party, { key }] of (await makeBuyers(sandbox, mostParties)).entries()) {
    purchases.push({ who: key, cards: await makeCards(sandbox, cardsOf(party), key) })
  }
  return purchases
}

/** The purchases of a round, by the parties in turn. */
function spread<Who>(purchases: Purchases<Who>, parties: number, count: number): { who: Who; cardId: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const buyer = purchases[index % parties]
    const cardId = buyer?.cards.pop()
    if (buyer === undefined || cardId === undefined) throw new Error('Bug: a party is out of cards.')
    return { who: buyer.who, cardId }
  })
}

/** The statements by hand, a round trip each, on a pool; the locks keep them from undoing each other. */
async function openBare(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  // A connection that the end of the server cuts off after the pool was told to end; queries report their own errors.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  await pool.query(baselineTables)
  const { callers, statements } = baselineRows(Array.from({ length: mostParties }, (_, party) => cardsOf(party)))
  for (const { sql, parameters } of statements) await pool.query(numbered(sql), parameters)
  return {
    purchases: callers.map((who): Purchases<Caller>[number] => ({ who, cards: who.cards })),
    async authorize(caller: Caller, cardId: string) {
      const client = await pool.connect()
      try {
        await client.query('begin isolation level read committed')
        const steps = authorization(caller, cardId)
        let rows: Rows = []
        for (let step = steps.next(); !step.done; step = steps.next(rows)) {
          const { sql, parameters } = step.value
          const result = await client.query(numbered(sql), parameters)
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

const texts = new Map<string, string>()

/** PostgreSQL's own marks of parameters, `$1`, for `?`. */
function numbered(sql: string): string {
  let count = 0
  const text = texts.get(sql) ?? sql.replaceAll('?', () => `$${++count}`)
  texts.set(sql, text)
  return text
}
