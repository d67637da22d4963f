import { type ExpressionBuilder, type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { prepared, writing } from './engine/prepared.ts'
import type { SandboxSeen } from './engine/real-clock.ts'
import type { Transaction } from './engine/store.ts'
import { lastFinished } from './idempotency-records.ts'
import { keysVersionIn } from './root-keys.ts'
import type { Tables } from './schema/tables.ts'

/** The times of a request. Stored times are compared with these times, never with one machine's clock. */
export interface Times {
  /** The service's time, which the sandbox moves. The API's records use it. */
  nowMs: number
  /** Real time, which the sandbox cannot move. Tokens, sessions, grants and codes use it. */
  realNowMs: number
  /**
   * The service's time according to the slowest known clock. It decides when recorded answers expire, so a clock that
   * runs ahead for a while cannot cause a request to be carried out twice.
   */
  earliestMs: number
  /** Rises when the sandbox is reset or restored. The service's time may go back only then. */
  epoch: number
}

/**
 * Returns the time without applying due effects. Use it only if due effects cannot change the records that you read.
 */
export async function readTimes(tx: Transaction): Promise<Times> {
  return (await readClock(tx)).times
}

/**
 * Returns real time, from the database's clock if it has one. It is never earlier than any time that a process has
 * already seen.
 */
export async function realNow(tx: Transaction): Promise<number> {
  return (await readTimes(tx)).realNowMs
}

/**
 * A query that selects a table's records with the time of their next automatic event (`atMs`), for one party or all.
 */
export type Moments = (
  db: Kysely<Tables>,
  partyId?: string,
) => SelectQueryBuilder<Tables, keyof Tables, { id: string; partyId: string; atMs: number | null }>

/** Limits a query for a party's due effects. The query returns the oldest effects first. */
export interface DueOf {
  partyId: string
  nowMs: number
  limit: number
}

/** The times from one reading of the clock, and the time of the earliest requested moment. */
export interface TimesAndNext {
  times: Times
  nextAtMs: number | null
  faults: FaultCounts
}

export type FaultCounts = Omit<SandboxSeen, 'offsetMs'>

/** Makes a function that reads the time and, in the same query, the time of the earliest of these moments. */
export function timesAndNext(moments: readonly Moments[]): (tx: Transaction) => Promise<TimesAndNext> {
  // `clock_timestamp` is the current time. The start of the transaction would be too early, since the transaction may
  // have waited.
  const readShared = clockQuery(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`, moments)
  const readOwn = clockQuery(sql<null>`null`, moments)
  return async (tx) => timesIn(tx, (tx.clock.shared ? readShared : readOwn)(tx, {}))
}

/**
 * Returns the times from the row of a query that selects `clockColumns`. Also stores the version of the root keys in
 * the transaction's journal.
 */
export async function timesIn(tx: Transaction, reading: Promise<{ rows: ClockRow[] }>): Promise<TimesAndNext> {
  tx.journal.keysVersion = reading.then(({ rows }) => rows[0]?.keysVersion)
  tx.journal.keysVersion.catch(() => {})
  const [row] = (await reading).rows
  if (row === undefined) throw new Error('Bug: the clock has no row.')
  const { offsetMs, databaseNowMs, epoch, nextAtMs, faultRules, staleRules } = row
  // The clock had already reached the time at which the last operation finished.
  const highestMs = Math.max(row.highestMs, (row.lastFinishedAtMs ?? 0) - offsetMs)
  const { realNowMs, earliestMs } = tx.clock.read({ databaseNowMs, highestMs, epoch })
  const times = { nowMs: realNowMs + offsetMs, realNowMs, earliestMs: earliestMs + offsetMs, epoch }
  const faults = { faultRules, staleRules }
  tx.clock.sandbox = { offsetMs, ...faults }
  return { times, nextAtMs, faults }
}

interface ClockRow extends SandboxSeen {
  highestMs: number
  epoch: number
  databaseNowMs: number | null
  lastFinishedAtMs: number | null
  nextAtMs: number | null
  keysVersion: number
}

const readClock = timesAndNext([])

/** Selects the clock's epoch within another query. The epoch rises with each reset and restore. */
export const epochIn = (db: Kysely<Tables>) => db.selectFrom('clock').select('epoch').$asScalar()

/**
 * Creates the query that reads the time.
 * @param databaseNow The database's time; null for a file, which has no clock.
 */
function clockQuery(databaseNow: RawBuilder<number | null>, moments: readonly Moments[]) {
  return prepared((db, _none: object) => db.selectFrom('clock').select(clockColumns(db, databaseNow, moments)))
}

/** Returns the columns of a query that reads the time: the columns of the clock's row, and computed ones. */
export function clockColumns(db: Kysely<Tables>, databaseNow: RawBuilder<number | null>, moments: readonly Moments[]) {
  return [
    // How far the sandbox's clock is ahead of real time.
    'clock.offsetMs',
    'clock.highestMs',
    'clock.epoch',
    'clock.faultRules',
    'clock.staleRules',
    databaseNow.as('databaseNowMs'),
    lastFinished(db).as('lastFinishedAtMs'),
    nextMoment(db, moments).as('nextAtMs'),
    keysVersionIn(db).as('keysVersion'),
  ] as const
}

/**
 * Selects the time of the earliest of these moments, for one party or all. It costs one index lookup for each table.
 */
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

/**
 * Selects the parties with moments at or before `nowMs`, the most overdue first. A party appears once for each of its
 * moments.
 */
export function partiesWithDueEffects(
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

/** Selects up to `limit` records with the kind and the time of their next automatic event, soonest first. */
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

/**
 * Records that a fault rule or a snapshot was added or removed. Every function that adds or removes one must call it.
 */
export async function raiseSettingsRevision(tx: Transaction): Promise<void> {
  await raiseRevision(tx, {})
}

const selectRevision = prepared((db, _none: object) => db.selectFrom('clock').select('settingsRevision'))

/** Returns how many times a fault rule or a snapshot was added or removed. */
export async function settingsRevision(tx: Transaction): Promise<number> {
  return (await selectRevision(tx, {})).rows[0]?.settingsRevision ?? 0
}

/**
 * Publishes the number of fault rules to all requests. It also updates this process at once, because a call over stdio
 * checks the number before it reads the time.
 */
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

/** Begins a new epoch. The service's time then starts at `startsAtMs`, or at real time if `startsAtMs` is null. */
export async function beginEpoch(tx: Transaction, startsAtMs: number | null): Promise<Times> {
  const beginFields = (row: ExpressionBuilder<Tables, 'clock'>) => ({
    epoch: row('epoch', '+', 1),
    highestMs: 0,
    offsetMs: 0,
  })
  await tx.db.updateTable('clock').set(beginFields).execute()
  if (startsAtMs === null) return readTimes(tx)
  await moveClock(tx, startsAtMs - (await readTimes(tx)).realNowMs)
  return readTimes(tx)
}

/**
 * Stores the latest time that was seen, so that it is known after a restart. Does nothing if a new epoch has begun
 * since.
 */
export async function saveHighestTime(tx: Transaction, highestMs: number, epoch: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set({ highestMs })
    .where('epoch', '=', epoch)
    .where('highestMs', '<', highestMs)
    .execute()
}
