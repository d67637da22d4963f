import { type ExpressionBuilder, type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { SandboxSettings } from './engine/real-clock.ts'
import type { Transaction } from './engine/store.ts'
import { lastFinished } from './idempotency-records.ts'
import { keysVersionIn } from './root-keys.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The times of a request. Code compares stored times only with these times, never with the clock of a single machine.
 */
export interface Times {
  /** The time on the sandbox clock. The API's records use it. */
  nowMs: number
  /** Real time, which is independent of the sandbox clock. Tokens, sessions, grants and codes use it. */
  realNowMs: number
  /**
   * The time on the sandbox clock, computed from the real clock that shows the earliest time. It decides when recorded
   * answers expire. If the clock ran ahead, an answer could expire too early, and a retry would then carry out the
   * request a second time.
   */
  earliestMs: number
  /** A number that rises when the sandbox is reset or restored. `nowMs` can go back only when this number rises. */
  epoch: number
}

/**
 * Returns the times without applying due effects. Use this function only to read records that due effects cannot
 * change.
 */
export async function readTimes(tx: Transaction): Promise<Times> {
  return (await readClock(tx)).times
}

/**
 * Returns the real time, from the database's clock if the database has one. The time is never earlier than the latest
 * real time that a process has stored.
 */
export async function realNow(tx: Transaction): Promise<number> {
  return (await readTimes(tx)).realNowMs
}

/**
 * A function that creates a query on one table, for one party or for all parties. For each record, the query selects
 * the id, the party, and the time of the record's next automatic effect (`atMs`).
 */
export type Moments = (
  db: Kysely<Tables>,
  partyId?: string,
) => SelectQueryBuilder<Tables, keyof Tables, { id: string; partyId: string; atMs: number | null }>

/**
 * The parameters of a query for a party's due effects. The query returns at most `limit` effects, the most overdue
 * first.
 */
export interface DueOf {
  partyId: string
  nowMs: number
  limit: number
}

/**
 * The result of one reading of the clock. `nextAtMs` is the time of the next automatic effect; null if there is none.
 */
export interface TimesAndNext {
  times: Times
  nextAtMs: number | null
  faults: FaultCounts
}

export type FaultCounts = Omit<SandboxSettings, 'offsetMs'>

/**
 * Makes a function that reads the clock. The same query also reads the time of the next automatic effect in `moments`.
 */
export function timesAndNext(moments: readonly Moments[]): (tx: Transaction) => Promise<TimesAndNext> {
  // `clock_timestamp()` returns the current time. `now()` would return the time at which the transaction began, which
  // is too early if the transaction has had to wait.
  const readShared = clockQuery(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`, moments)
  const readOwn = clockQuery(sql<null>`null`, moments)
  return async (tx) => timesIn(tx, (tx.clock.shared ? readShared : readOwn)(tx, {}))
}

/**
 * Returns the times from the result of a query that selects `clockColumns`. Also stores the version of the root keys
 * in the transaction's journal.
 */
export async function timesIn(tx: Transaction, reading: Promise<{ rows: ClockRow[] }>): Promise<TimesAndNext> {
  tx.journal.keysVersion = reading.then(({ rows }) => rows[0]?.keysVersion)
  tx.journal.keysVersion.catch(() => {})
  const [row] = (await reading).rows
  if (row === undefined) throw new Error('Bug: the clock has no row.')
  const { offsetMs, databaseNowMs, epoch, nextAtMs, faultRules, staleRules } = row
  // The stored `highestMs` can be behind the time at which the last operation finished, but the clock must not be.
  const highestMs = Math.max(row.highestMs, (row.lastFinishedAtMs ?? 0) - offsetMs)
  const { realNowMs, earliestMs } = tx.clock.read({ databaseNowMs, highestMs, epoch })
  const times = { nowMs: realNowMs + offsetMs, realNowMs, earliestMs: earliestMs + offsetMs, epoch }
  const faults = { faultRules, staleRules }
  tx.clock.sandbox = { offsetMs, ...faults }
  return { times, nextAtMs, faults }
}

interface ClockRow extends SandboxSettings {
  highestMs: number
  epoch: number
  databaseNowMs: number | null
  lastFinishedAtMs: number | null
  nextAtMs: number | null
  keysVersion: number
}

const readClock = timesAndNext([])

/** Creates a subquery for the clock's epoch, which rises with each reset and restore. */
export const epochIn = (db: Kysely<Tables>) => db.selectFrom('clock').select('epoch').$asScalar()

/**
 * Creates the query that reads the clock.
 * @param databaseNow The SQL expression for the database server's time. For SQLite, which has no server, it is `null`.
 */
function clockQuery(databaseNow: RawBuilder<number | null>, moments: readonly Moments[]) {
  return prepared((db, _none: object) => db.selectFrom('clock').select(clockColumns(db, databaseNow, moments)))
}

/** Returns the columns of a query that reads the clock: columns of the table `clock`, and computed columns. */
export function clockColumns(db: Kysely<Tables>, databaseNow: RawBuilder<number | null>, moments: readonly Moments[]) {
  return [
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
 * Selects the time of the next automatic effect, for one party or for all parties. The query costs one index lookup for
 * each table in `moments`.
 */
export function nextMoment(
  db: Kysely<Tables>,
  moments: readonly Moments[],
  partyId?: string,
): RawBuilder<number | null> {
  const first = sql`min(${sql.ref('atMs')})`
  const firsts = moments.map((find) => sql`select ${first} as ${sql.ref('atMs')} from (${find(db, partyId)}) as one`)
  if (firsts.length === 0) return sql`null`
  return sql`(select ${first} from (${sql.join(firsts, sql` union all `)}) as firsts)`
}

/**
 * Selects the parties with effects that are due at `nowMs`, the most overdue first. A party appears once for each
 * record with a due effect.
 */
export function partiesWithDueEffects(
  db: Kysely<Tables>,
  moments: readonly Moments[],
  { nowMs, limit, partyId }: Omit<DueOf, 'partyId'> & { partyId?: string },
): RawBuilder<{ partyId: string }> {
  const due = moments.map(
    (find) =>
      sql`select * from (${find(db, partyId).orderBy('atMs').limit(limit)}) as one where ${sql.ref('atMs')} <= ${nowMs}`,
  )
  const all = sql.join(due, sql` union all `)
  return sql`select ${sql.ref('partyId')} from (${all}) as due order by ${sql.ref('atMs')} limit ${limit}`
}

/**
 * Selects the next effects on a party's records, soonest first, at most `limit`. Each row has the kind of the effect,
 * the id of the record and the time.
 */
export function nextRecords<Kind extends string>(
  db: Kysely<Tables>,
  effects: readonly { kind: Kind; moments: Moments }[],
  { partyId, limit }: { partyId: string; limit: number },
): RawBuilder<{ kind: Kind; id: string; atMs: number }> {
  const next = effects.map(
    ({ kind, moments }) =>
      sql`select ${sql.lit(kind)} as ${sql.ref('kind')}, one.* from (${moments(db, partyId).orderBy('atMs').orderBy('id').limit(limit)}) as one`,
  )
  const columns = sql.join(['kind', 'id', 'atMs'].map((name) => sql.ref(name)))
  return sql`select ${columns} from (${sql.join(next, sql` union all `)}) as next order by ${sql.ref('atMs')}, ${sql.ref('id')} limit ${limit}`
}

const writeFaultCounts = preparedWrite((db, counts: FaultCounts) => db.updateTable('clock').set(counts))

const raiseRevision = preparedWrite((db, _none: object) =>
  db.updateTable('clock').set((row) => ({ settingsRevision: row('settingsRevision', '+', 1) })),
)

/**
 * Raises the revision of the sandbox settings. Every function that adds or removes a fault rule or a snapshot must call
 * this function.
 */
export async function raiseSettingsRevision(tx: Transaction): Promise<void> {
  await raiseRevision(tx, {})
}

const selectRevision = prepared((db, _none: object) => db.selectFrom('clock').select('settingsRevision'))

/** Returns a number that rises whenever a fault rule or a snapshot is added or removed. */
export async function settingsRevision(tx: Transaction): Promise<number> {
  return (await selectRevision(tx, {})).rows[0]?.settingsRevision ?? 0
}

/**
 * Stores the number of all fault rules, and the number of rules of the kind `stale`, in the table `clock`, which every
 * request reads. Also updates this process's copy of the numbers immediately, because a call over stdio uses the copy
 * before the call reads the clock.
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

/** Begins a new epoch. The sandbox clock then starts at `startsAtMs`, or at real time if `startsAtMs` is null. */
export async function beginEpoch(tx: Transaction, startsAtMs: number | null): Promise<Times> {
  const startValues = (row: ExpressionBuilder<Tables, 'clock'>) => ({
    epoch: row('epoch', '+', 1),
    highestMs: 0,
    offsetMs: 0,
  })
  await tx.db.updateTable('clock').set(startValues).execute()
  if (startsAtMs === null) return readTimes(tx)
  await moveClock(tx, startsAtMs - (await readTimes(tx)).realNowMs)
  return readTimes(tx)
}

/**
 * Stores the latest real time that this process has read, so that time does not go back after a restart. Does nothing
 * if a later time is already stored, or if `epoch` is no longer the current epoch.
 */
export async function saveHighestTime(tx: Transaction, highestMs: number, epoch: number): Promise<void> {
  await tx.db
    .updateTable('clock')
    .set({ highestMs })
    .where('epoch', '=', epoch)
    .where('highestMs', '<', highestMs)
    .execute()
}
