import { type Kysely, Kysely as PooledKysely, PostgresDialect, sql } from 'kysely'
import type { Pool } from 'pg'
import type { System } from '../../../core/system.ts'
import { migrate } from '../schema/migrations.ts'
import type { Tables } from '../schema/tables.ts'
import { wrapKeys } from './keys-at-rest.ts'
import { Gate, Lines, NotMyTurnError, Place } from './lines.ts'
import { RealClock } from './real-clock.ts'
import { StaleWriteError, type Store, StoreBusyError, type Transaction } from './store.ts'
import type { Wrapping } from './wrapping.ts'

interface OpenPostgres {
  url: string
  system: System
  wrapping: Wrapping
}

/** A store over a PostgreSQL database, which any number of processes may share. */
export async function openPostgres({ url, system, wrapping }: OpenPostgres): Promise<Store> {
  const clock = new RealClock(system, { shared: true })
  const writers = await openLane(url, mostWriting, { clock, wrapping })
  const aside = await openLane(url, mostAside, { clock, wrapping })
  const close = () => Promise.all([writers.db.destroy(), aside.db.destroy()])
  try {
    await migrate(writers.db)
  } catch (error) {
    await close()
    throw error
  }
  const context: Context = { writers, system, lines: new Lines() }
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined
  const counted = async <T>(run: () => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw new StoreBusyError('The database is closed.')
    const result = run()
    running.add(result)
    try {
      return await result
    } finally {
      running.delete(result)
    }
  }
  const store: Store = {
    dialect: 'postgres',
    clock,
    transaction: (work) => counted(() => transaction(context, work)),
    aside: (work) => counted(() => transaction({ ...context, writers: aside }, work)),
    read: (work) => counted(() => readOnly(aside, work)),
    close() {
      closing ??= Promise.allSettled(running).then(async () => void (await close()))
      return closing
    },
  }
  try {
    await wrapKeys(store)
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

const mostWriting = 10
/** Connections of their own, so that who reads waits for none of those that everybody writes with. */
const mostAside = 4
const connectTimeoutMs = 5_000
/** Transactions take milliseconds: one that waits so long for a lock waits for something that is stuck. */
const lockTimeoutMs = 5_000
const attemptLimit = 20

/** What every transaction of the store has. */
type Shared = Pick<Transaction, 'clock' | 'wrapping'>

/** Connections, and who may use one. */
interface Lane extends Shared {
  db: Kysely<Tables>
  gate: Gate
}

/**
 * One more is let in than there are connections: it waits in the pool, and when no connection becomes free there for
 * the time that connecting may take, the database is stuck.
 */
async function openLane(url: string, connections: number, shared: Shared): Promise<Lane> {
  const pool = await createPool(url, connections)
  const db = new PooledKysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return { db, ...shared, gate: new Gate(connections + 1) }
}

async function createPool(url: string, connections: number): Promise<Pool> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    lock_timeout: lockTimeoutMs,
    types: { getTypeParser: numberParser(pg.types) },
  })
  // Both events tell of a lost connection, which the pool replaces; unheard they would end the process. Whoever uses
  // the connection gets the error from its query.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

type Types = typeof import('pg')['types']

/** int8 as number, which every amount and instant fits: by default it is text. */
function numberParser(types: Types): Types['getTypeParser'] {
  const parser = (id: number, format?: 'text' | 'binary') =>
    id === types.builtins.INT8 && format !== 'binary' ? Number : types.getTypeParser(id, format as 'text')
  return parser as Types['getTypeParser']
}

interface Context {
  writers: Lane
  system: System
  lines: Lines
}

async function transaction<T>({ writers, system, lines }: Context, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const place = new Place(lines)
  const contended = new Set<string>()
  try {
    for (let attempt = 1; attempt <= attemptLimit; attempt++) {
      await place.waitForTurns()
      try {
        return await attemptOnce(writers, work, place, contended)
      } catch (error) {
        if (error instanceof NotMyTurnError) continue
        if (!isWorthAnotherAttempt(error)) throw asBusy(error) ?? error
        if (error instanceof StaleWriteError && place.want(error.message)) contended.add(error.message)
        else await system.sleep(backoffMs(system, attempt))
      }
    }
    throw new StoreBusyError(`Gave up after ${attemptLimit} attempts: too contended.`)
  } finally {
    place.leave()
  }
}

/** Each query on its own: what is committed, without the round trips of a transaction. */
function readOnly<T>(readers: Lane, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return inLane(readers, async (begin) => {
    try {
      return await readers.db.connection().execute((db) => {
        begin()
        return work(transactionOver(db, readers, new Place(new Lines())))
      })
    } catch (error) {
      throw asBusy(error) ?? error
    }
  })
}

/**
 * Runs `work` once. Those that found something changed under them go one after another from then on, in this process
 * by the line and among processes by the lock, lest ten that try at once undo each other until they give up.
 */
function attemptOnce<T>(
  writers: Lane,
  work: (tx: Transaction) => Promise<T>,
  place: Place,
  contended: Set<string>,
): Promise<T> {
  return inLane(writers, (begin) =>
    writers.db
      .transaction()
      .setIsolationLevel('read committed')
      .execute(async (kysely) => {
        begin()
        const tx = transactionOver(kysely, writers, place)
        for (const name of [...contended].sort()) await tx.lock(name)
        return work(tx)
      }),
  )
}

/** Where `use` gets no connection, as many as wait would not get one either: waiting one after another they would wait far too long. */
async function inLane<T>({ gate }: Lane, use: (begin: () => void) => Promise<T>): Promise<T> {
  await gate.enter()
  let begun = false
  try {
    return await use(() => {
      begun = true
    })
  } catch (error) {
    if (!begun) gate.refuseLine(asBusy(error) ?? error)
    throw error
  } finally {
    gate.leave()
  }
}

function transactionOver(db: Kysely<Tables>, { clock, wrapping }: Shared, place: Place): Transaction {
  const lock = async (name: string): Promise<void> => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db)
  }
  let depth = 0
  return {
    db,
    clock,
    wrapping,
    async savepoint(work) {
      depth += 1
      const name = sql.id(`level_${depth}`)
      await sql`savepoint ${name}`.execute(db)
      try {
        // Not released: the end of the transaction does that without a round trip of its own.
        return await work()
      } catch (error) {
        await sql`rollback to savepoint ${name}`.execute(db)
        throw error
      } finally {
        depth -= 1
      }
    },
    lock,
    async takeTurn(name) {
      place.takeTurn(name)
      await lock(name)
    },
    async tryLock(name) {
      if (!place.keep(name)) return false
      const query = sql<{ taken: boolean }>`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as taken`
      return (await query.execute(db)).rows[0]?.taken === true
    },
  }
}

/** Doubles from attempt to attempt up to 64 ms, of which a random part is taken. */
function backoffMs(system: System, attempt: number): number {
  const [random = 0] = system.randomBytes(1)
  return Math.ceil((2 ** Math.min(attempt, 6) * (random + 1)) / 256)
}

/** serialization_failure and deadlock_detected: the database chose this transaction to give way. */
const rerunCodes: ReadonlySet<string> = new Set(['40001', '40P01'])

function isWorthAnotherAttempt(error: unknown): boolean {
  if (error instanceof StaleWriteError) return true
  if (!(error instanceof Error) || !('code' in error)) return false
  // Another request with the same key committed first: run again, this one finds its record.
  const lostKey = error.code === '23505' && 'table' in error && error.table === 'idempotencyRecords'
  return lostKey || rerunCodes.has(String(error.code))
}

/**
 * SQLSTATE classes and codes that say the server, not the statement, is at fault: connection, resources, shutdown,
 * lock_not_available, a standby that takes no writes, io_error (PostgreSQL, Appendix A). Then the codes of sockets.
 */
const busyCodes =
  /^(08...|53...|57P0[1-5]|55P03|25006|58030|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ENOENT)$/
/** What `pg` reports of its own connections has no code. */
const busyMessages = /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connect)/

/** A commit whose answer was lost may have taken effect: whoever repeats it needs an idempotency key. */
function asBusy(error: unknown): StoreBusyError | undefined {
  if (!(error instanceof Error)) return undefined
  const isBusy = 'code' in error ? busyCodes.test(String(error.code)) : busyMessages.test(error.message)
  return isBusy
    ? new StoreBusyError('The database cannot be reached or is out of resources.', { cause: error })
    : undefined
}
