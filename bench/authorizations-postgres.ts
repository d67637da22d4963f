import pg from 'pg'
import { authorization, type Caller, callerQuery, type Rows } from './authorization-statements.ts'
import { authorizationsPerSecond, issueCards } from './authorizations-sqlite.ts'
import { startPostgres } from './postgres-server.ts'
import { inFlight, openSandbox, perSecond } from './sandbox.ts'
import { compare, type Row } from './table.ts'

const rounds = 5
const perRound = { sequential: 60, inFlight: 128 } as const
const mostInFlight = 64
/** As many as src/service/store/engine/postgres.ts opens. */
const connections = 10

/** Authorizations per second of the service on PostgreSQL, against its statements on bare `pg`. */
export async function measurePostgresAuthorizations(directory: string): Promise<Row[]> {
  const server = await startPostgres(directory)
  try {
    return await measure(await server.createDatabase('ours'), await server.createDatabase('bare'))
  } finally {
    await server.stop()
  }
}

async function measure(oursUrl: string, bareUrl: string): Promise<Row[]> {
  const cards = (rounds + 1) * (perRound.sequential + perRound.inFlight)
  const theirs = await openSandbox(bareUrl)
  const bareCards = await issueCards(theirs, cards)
  await theirs.close()
  const ours = await openSandbox(oursUrl)
  const bare = await openBare(bareUrl)
  try {
    const ourCards = await issueCards(ours, cards)
    const samples = { sequential: pair(), inFlight: pair() }
    for (let round = -1; round < rounds; round++) {
      for (const [mode, limit] of [['sequential', 1] as const, ['inFlight', mostInFlight] as const]) {
        const [mine, its] = [ourCards.splice(0, perRound[mode]), bareCards.splice(0, perRound[mode])]
        const our = await authorizationsPerSecond(ours, mine, limit)
        const other = await perSecond(its.length, () => inFlight(limit, its, bare.authorize))
        if (round < 0) continue
        samples[mode].ours.push(our)
        samples[mode].other.push(other)
      }
    }
    const goal = { atLeast: 0.4 }
    const row = (mode: string) =>
      ({ measurement: `authorizations, PostgreSQL, ${mode}, against bare pg`, unit: '/s' }) as const
    return [
      compare({ ...row('sequential'), ...samples.sequential, goal }),
      compare({ ...row('64 in flight'), ...samples.inFlight, goal }),
    ]
  } finally {
    await bare.close()
    await ours.close()
  }
}

const pair = () => ({ ours: [] as number[], other: [] as number[] })

/** The statements by hand, a round trip each, on as many connections; the locks keep them from undoing each other. */
async function openBare(url: string) {
  const pool = new pg.Pool({ connectionString: url, max: connections })
  // A connection that the end of the server cuts off after the pool was told to end; queries report their own errors.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const caller = (await pool.query<Caller>(callerQuery)).rows[0]
  if (caller === undefined) throw new Error('The bare database is not seeded.')
  return {
    async authorize(cardId: string) {
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
