import { fileURLToPath } from 'node:url'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { realSystem } from '../src/core/system.ts'
import { runIdOf } from '../src/service/request/run-log.ts'
import { openStore } from '../src/service/store/engine/open.ts'
import type { RunEntryRow } from '../src/service/store/schema/runs.ts'
import { columnsOf, speaksPostgres } from '../src/service/store/schema/table.ts'
import { type Tables, tables } from '../src/service/store/schema/tables.ts'
import { signIn } from './console-visit.ts'
import { type HttpServer, startHttpServer } from './http-server.ts'
import { startPostgres } from './postgres-server.ts'
import { openSandbox } from './sandbox.ts'
import { compare, type Row } from './table.ts'

const rounds = 15
const shortRun = 100
const longRun = 1_000_000
/** So many are entered at once that the database answers before it is given up on. */
const atOnce = 50_000

/** What a person opens of a run: by which index, or without one, its entries are found. */
const queries = ['', 'order=oldest', 'outcome=failed', 'tool=list_wallets&outcome=done', 'tool=revoke_card']

/** A page of a run of a million entries against the same of a hundred. */
export async function measureLongRun(directory: string): Promise<Row[]> {
  const server = await startPostgres(directory)
  try {
    const urls = { SQLite: `sqlite:${directory}/long-run.sqlite`, PostgreSQL: await server.createDatabase('long_run') }
    const rows: Row[] = []
    for (const [dialect, url] of Object.entries(urls)) rows.push(...(await measureOn(dialect, url)))
    return rows
  } finally {
    await server.stop()
  }
}

async function measureOn(dialect: string, url: string): Promise<Row[]> {
  const [long, short] = await makeRuns(url)
  const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url))
  const env = { PAYMENTS_PORT: '0', PAYMENTS_LOG_LEVEL: 'error', PAYMENTS_DATABASE_URL: url }
  const server = await startHttpServer([cli, 'serve'], { env })
  try {
    const cookie = await signIn(server.origin)
    const rows: Row[] = []
    for (const query of queries) {
      const timed = (run: string) => openingMs(server, `/console/runs/${run}?${query}`, cookie)
      const [ours, other]: [number[], number[]] = [[], []]
      for (let round = -2; round < rounds; round++) {
        const [one, another] = [await timed(long), await timed(short)]
        if (round < 0) continue
        ours.push(one)
        other.push(another)
      }
      const measurement = `a page of a run of a million entries against one of a hundred, ${dialect}${query && `, ${query}`}`
      // The same page has the same rows, but where a long run has more that fit.
      rows.push(compare({ measurement, unit: 'ms', ours, other, ...(query === '' ? { goal: { atMost: 1.5 } } : {}) }))
    }
    return rows
  } finally {
    await server.end()
  }
}

async function openingMs({ origin }: HttpServer, path: string, cookie: string): Promise<number> {
  const start = performance.now()
  const answer = await fetch(`${origin}${path}`, { headers: { cookie } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return performance.now() - start
}

/** Calls in two runs, of which one is then made long by its first entry, over and over. */
async function makeRuns(url: string): Promise<[string, string]> {
  const { service, request, close } = await openSandbox(url)
  const call = async (instanceId: string) => {
    const asked = request('GET', '/wallets')
    asked.headers.set('X-Instance-ID', instanceId)
    await (await service.fetch(asked)).body?.cancel()
  }
  for (let count = 0; count < shortRun; count++) await call('short')
  await call('long')
  const whoami = await (await service.fetch(request('GET', '/whoami'))).json()
  await close()
  const { partyId } = (whoami as { data: { attributes: { partyId: string } } }).data.attributes
  const long = runIdOf(partyId, 'long')
  const store = await openStore({ url, system: realSystem })
  for (let from = 1; from <= longRun; from += atOnce) await store.transaction(({ db }) => lengthen(db, long, from))
  await store.close()
  return [long, runIdOf(partyId, 'short')]
}

async function lengthen(db: Kysely<Tables>, runId: string, from: number): Promise<void> {
  const isPostgres = speaksPostgres(db)
  const [first, last] = [sql.lit(from), sql.lit(from + atOnce - 1)]
  const numbers = isPostgres
    ? sql`(select n from generate_series(${first}, ${last}) as n)`
    : sql`(with recursive counted(n) as (select ${first} union all select n + 1 from counted where n < ${last}) select n from counted)`
  const number = isPostgres ? sql`lpad(to_hex(n), 20, '0')` : sql`printf('%020x', n)`
  const values: Partial<Record<keyof RunEntryRow, RawBuilder<unknown>>> = {
    id: sql`substr(one."id", 1, 16) || ${number}`,
    supportId: sql`'req_000000000000' || ${number}`,
    outcome: sql`case n % 99991 when 0 then 'failed' else one."outcome" end`,
    detail: sql`'{"method":"GET","path":"/wallets","answer":"{}"}'`,
  }
  const names = columnsOf(tables.runEntries).map(([name]) => name)
  const selected = names.map((name) => values[name as keyof typeof values] ?? sql`one.${sql.ref(name)}`)
  const one = sql`(select * from "runEntries" where "runId" = ${runId} order by "id" desc limit 1) as one`
  const into = sql`insert into "runEntries" (${sql.join(names.map((name) => sql.ref(name)))})`
  await sql`${into} select ${sql.join(selected)} from ${numbers} as numbered, ${one}`.execute(db)
}
