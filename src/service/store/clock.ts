import { type ExpressionBuilder, type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { prepared, writing } from './engine/prepared.ts'
import type { SandboxSeen } from './engine/real-clock.ts'
import type { Transaction } from './engine/store.ts'
import { lastFinished } from './idempotency-records.ts'
import { keysVersionIn } from './root-keys.ts'
import type { Tables } from './schema/tables.ts'

/** The time of a request. Whatever is stored is judged by these, never by the clock of the machine that happens to ask. */
export interface Times {
  /** The service's time, which the sandbox moves: what the API's records live by. */
  nowMs: number
  /** Real time, which no sandbox moves: what tokens, sessions, grants and codes live by. */
  realNowMs: number
  /**
   * The service's time by whichever clock at hand is furthest behind. An answer is forgotten by it: that one clock runs
   * ahead for a while lets no request be carried out twice.
   */
  earliestMs: number
  /** Rises when the sandbox goes back to another state of its world: only then the service's time may, too. */
  epoch: number
}

/** The time, for what does not look at records that change by themselves. */
export async function readTimes(tx: Transaction): Promise<Times> {
  return (await readClock(tx)).times
}

/** Real time: the database's where it has one, and never earlier than anybody saw. */
export async function realNow(tx: Transaction): Promise<number> {
  return (await readTimes(tx)).realNowMs
}

/** Selects when something happens next by itself, `atMs`, to each record of a table, of one party or of all. */
export type Moments = (
  db: Kysely<Tables>,
  partyId?: string,
) => SelectQueryBuilder<Tables, keyof Tables, { id: string; partyId: string; atMs: number | null }>

/** What is due of a party: at most so many, the longest due first. */
export interface DueOf {
  partyId: string
  nowMs: number
  limit: number
}

/** What a reading of the clock tells: the time, and when the first of the moments that were asked for comes. */
interface TimesAndNext {
  times: Times
  nextAtMs: number | null
  faults: FaultCounts
}

export type FaultCounts = Omit<SandboxSeen, 'offsetMs'>

/** Makes what reads the time and, in the same query, when the first of these moments comes. */
export function timesAndNext(moments: readonly Moments[]): (tx: Transaction) => Promise<TimesAndNext> {
  // Not the time that the transaction began at, which may have waited since.
  const readShared = reading(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`, moments)
  const readOwn = reading(sql<null>`null`, moments)
  return async (tx) => {
    const reading = (tx.clock.shared ? readShared : readOwn)(tx, {})
    tx.journal.keysVersion = reading.then(({ rows }) => rows[0]?.keysVersion)
    tx.journal.keysVersion.catch(() => {})
    const [row] = (await reading).rows
    if (row === undefined) throw new Error('Bug: the clock has no row.')
    const { offsetMs, databaseNowMs, epoch, nextAtMs, faultRules, staleRules } = row
    // Whoever recorded something had seen the time that it is recorded with.
    const highestMs = Math.max(row.highestMs, (row.lastFinishedAtMs ?? 0) - offsetMs)
    const { realNowMs, earliestMs } = tx.clock.read({ databaseNowMs, highestMs, epoch })
    const times = { nowMs: realNowMs + offsetMs, realNowMs, earliestMs: earliestMs + offsetMs, epoch }
    const faults = { faultRules, staleRules }
    tx.clock.sandbox = { offsetMs, ...faults }
    return { times, nextAtMs, faults }
  }
}

const readClock = timesAndNext([])

/** The clock's epoch within another query: it rises with each reset and restore. */
export const epochIn = (db: Kysely<Tables>) => db.selectFrom('clock').select('epoch').$asScalar()

/** @param databaseNow What the database says the time is; null: it is a file and says nothing. */
function reading(databaseNow: RawBuilder<number | null>, moments: readonly Moments[]) {
  return prepared((db, _none: object) =>
    db.selectFrom('clock').select([
      // How far the sandbox's clock is ahead of real time.
      'offsetMs',
      'highestMs',
      'epoch',
      'faultRules',
      'staleRules',
      databaseNow.as('databaseNowMs'),
      lastFinished(db).as('lastFinishedAtMs'),
      nextMoment(db, moments).as('nextAtMs'),
      keysVersionIn(db).as('keysVersion'),
    ]),
  )
}

/** When the first of these moments comes, of one party or of all: a step into an index for each table. */
export function nextMoment(
  db: Kysely<Tables>,
  moments: readonly Moments[],
  partyId?: string,
): RawBuilder<number | null> {
  const first = sql`min(${sql.ref('atMs')})`
  const firsts = moments.map((of) => sql`select ${first} as ${sql.ref('atMs')} from (${of(db, partyId)}) as one`)
  if (firsts.length === 0) return sql`null`
  return sql`(select ${first} from (${sql.join(firsts, sql` union all `)}) as firsts)`
}

/** Whose moments have come by `nowMs`, once for each, the longest due first. */
export function dueOwners(
  db: Kysely<Tables>,
  moments: readonly Moments[],
  { nowMs, limit, partyId }: Omit<DueOf, 'partyId'> & { partyId?: string },
): RawBuilder<{ partyId: string }> {
  const due = moments.map(
    (of) =>
      sql`select * from (${of(db, partyId).orderBy('atMs').limit(limit)}) as one where ${sql.ref('atMs')} <= ${nowMs}`,
  )
  const all = sql.join(due, sql` union all `)
  return sql`select ${sql.ref('partyId')} from (${all}) as due order by ${sql.ref('atMs')} limit ${limit}`
}

/** To which records something happens next, of which kind and when, the soonest first and at most so many. */
export function nextRecords<Kind extends string>(
  db: Kysely<Tables>,
  effects: readonly { kind: Kind; moments: Moments }[],
  { partyId, limit }: { partyId: string; limit: number },
): RawBuilder<{ kind: Kind; id: string; atMs: number }> {
  const next = effects.map(
    ({ kind, moments }) =>
      sql`select ${sql.lit(kind)} as ${sql.ref('kind')}, one.* from (${moments(db, partyId).orderBy('atMs').orderBy('id').limit(limit)}) as one`,
  )
  const of = sql.join(['kind', 'id', 'atMs'].map((name) => sql.ref(name)))
  return sql`select ${of} from (${sql.join(next, sql` union all `)}) as next order by ${sql.ref('atMs')}, ${sql.ref('id')} limit ${limit}`
}

const writeFaultCounts = writing((db, counts: FaultCounts) => db.updateTable('clock').set(counts))

const raiseRevision = writing((db, _none: object) =>
  db.updateTable('clock').set((row) => ({ settingsRevision: row('settingsRevision', '+', 1) })),
)

/** To be called where a rule of the faults or a snapshot comes or goes. */
export async function noteSettingChanged(tx: Transaction): Promise<void> {
  await raiseRevision(tx, {})
}

const selectRevision = prepared((db, _none: object) => db.selectFrom('clock').select('settingsRevision'))

/** How often a rule of the faults or a snapshot came or went. */
export async function settingsRevision(tx: Transaction): Promise<number> {
  return (await selectRevision(tx, {})).rows[0]?.settingsRevision ?? 0
}

/** Tells every request of the rules; a call over stdio, which reads no time before it is planned, knows it at once. */
export async function setFaultCounts(tx: Transaction, counts: FaultCounts): Promise<void> {
  await writeFaultCounts(tx, counts)
  Object.assign(tx.clock.sandbox, counts)
}

export async function moveClock(tx: Transaction, byMs: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set((row) => ({ offsetMs: row('offsetMs', '+', byMs) }))
    .execute()
}

/** Begins an epoch, in which time starts anew: the service's at that moment, or as real time is where it is null. */
export async function beginEpoch(tx: Transaction, startsAtMs: number | null): Promise<Times> {
  const begun = (row: ExpressionBuilder<Tables, 'clock'>) => ({
    epoch: row('epoch', '+', 1),
    highestMs: 0,
    offsetMs: 0,
  })
  await tx.db.updateTable('clock').set(begun).execute()
  if (startsAtMs === null) return readTimes(tx)
  await moveClock(tx, startsAtMs - (await readTimes(tx)).realNowMs)
  return readTimes(tx)
}

/** Keeps the latest time that was seen for those who come later, unless time has begun anew since. */
export async function keepHighest(tx: Transaction, highestMs: number, epoch: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set({ highestMs })
    .where('epoch', '=', epoch)
    .where('highestMs', '<', highestMs)
    .execute()
}
