import type { System } from '../../../core/system.ts'
import { creationOf } from './creation.ts'
import { Gate } from './gate.ts'
import { wrapKeys } from './keys-at-rest.ts'
import { originOf, requireUsable } from './origin.ts'
import {
  asBusy,
  type ConnectionPool,
  isOfDatabase,
  isPreparedForOtherColumns,
  keepsPrepared,
  openPool,
  transactionLimits,
} from './postgres-connections.ts'
import { Session } from './postgres-session.ts'
import { type Footing, PostgresTransaction, type Surroundings } from './postgres-transaction.ts'
import { Transactions } from './postgres-transactions.ts'
import { RealClock } from './real-clock.ts'
import { type Store, StoreBusyError, type Transaction } from './store.ts'
import type { Wrapping } from './wrapping.ts'

interface OpenPostgres {
  url: string
  system: System
  wrapping: Wrapping
  isolation?: 'read committed' | 'serializable' | undefined
  /** A standby, for what may be a little behind. */
  readUrl?: string | undefined
  /** How many connections write. */
  connections?: number | undefined
  isResettable: boolean
}

/** How many connections do what: together they are fewer than a small server takes. */
const places = { writing: 10, reading: 4, aside: 2 } as const
/** Most of those that write are for who holds one for longer, since what most requests do is done together. */
const mostShared = 3

/** A store over a PostgreSQL database, which any number of processes may share. */
export async function openPostgres(options: OpenPostgres): Promise<Store> {
  const {
    url,
    system,
    wrapping,
    isolation = 'read committed',
    readUrl,
    connections = places.writing,
    isResettable,
  } = options
  const prepares = await createTables(url, system)
  const surroundings = { clock: new RealClock(system, { shared: true }), wrapping }
  const pools = {
    writing: openPool(url, { connections, prepares }),
    reading: openPool(url, { connections: places.reading, prepares }),
    // For what is asked while all others wait.
    aside: openPool(url, { connections: places.aside, prepares }),
    ...(readUrl !== undefined && { standby: openPool(readUrl, { connections: places.reading }) }),
  }
  const begin = beginning(isolation, isResettable)
  const shared = { begin, system, surroundings }
  const together = Math.min(mostShared, Math.ceil(connections / 2))
  const writingPlaces = { shared: together, apart: connections - together }
  const writing = new Transactions({ ...shared, pool: pools.writing, places: writingPlaces })
  const aside = new Transactions({ ...shared, pool: pools.aside, places: { shared: 0, apart: places.aside } })
  const readers = new Readers(pools.reading, surroundings, isResettable)
  const standby = pools.standby && new Readers(pools.standby, surroundings, isResettable)
  let closing: Promise<void> | undefined
  const whileOpen = <T>(run: () => Promise<T>): Promise<T> =>
    closing === undefined ? run() : Promise.reject(new StoreBusyError('The database is closed.'))
  const store: Store = {
    dialect: 'postgres',
    clock: surroundings.clock,
    transaction: (work, given) => whileOpen(() => writing.run(work, given)),
    aside: (work) => whileOpen(() => aside.run(work)),
    read: (work) => whileOpen(() => readers.read(work)),
    load: () => {
      const { waiting, running, begun, retries } = writing.load
      return { waiting, connections: running, groups: begun, retries }
    },
    readBehind: standby && ((work) => whileOpen(() => readBehind(standby, readers, work))),
    close() {
      closing ??= Promise.all([writing.idle(), aside.idle(), readers.idle(), standby?.idle()]).then(async () => {
        await Promise.all(Object.values(pools).map((pool) => pool.end()))
      })
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

/**
 * How transactions begin that write. Where the world can be replaced, each takes a lock that it shares with the others, or
 * has to itself, before it sees anything. A weak lock of a table is among those that PostgreSQL keeps beside each of its
 * processes, so that sharing it costs next to nothing.
 */
function beginning(isolation: string, isResettable: boolean): (alone: boolean) => string {
  const begin = `begin isolation level ${isolation}; ${transactionLimits}`
  if (!isResettable) return () => begin
  return (alone) => `${begin}; lock table "clock" in ${alone ? 'exclusive' : 'row share'} mode`
}

/** A name among PostgreSQL's advisory locks. */
const creationLock = 0x70_61_79_6d

/**
 * Makes the tables where there are none, on a connection without a deadline: processes that start at once wait for the
 * first. Returns what `keepsPrepared` does. @throws WrongDatabaseError for a schema that is neither empty nor ours.
 */
async function createTables(url: string, system: System): Promise<boolean> {
  const pool = openPool(url, { connections: 1, isPatient: true })
  const client = await pool.connect()
  const look = () => originOf('postgres', async (query) => (await client.query(query)).rows)
  try {
    let origin = await look()
    if (origin === 'empty') {
      await client.query(`begin; select pg_advisory_xact_lock(${creationLock})`)
      origin = await look()
      await client.query(`${origin === 'empty' ? creationOf('postgres', system) : 'select 1'}; commit`)
    }
    requireUsable(origin)
  } finally {
    // A connection that failed within the transaction is not used again.
    client.release(true)
  }
  try {
    return await keepsPrepared(pool)
  } finally {
    await pool.end()
  }
}

/** What a standby cannot read, being away, stopped by what it replays, or without a new column, the primary reads. */
async function readBehind<T>(standby: Readers, primary: Readers, work: (tx: Transaction) => Promise<T>): Promise<T> {
  try {
    return await standby.read(work)
  } catch (error) {
    if (error instanceof StoreBusyError || isOfDatabase(error)) return primary.read(work)
    throw error
  }
}

/** Reads on connections of their own what is committed, without the round trips of a transaction. */
class Readers {
  readonly #pool: ConnectionPool
  readonly #surroundings: Surroundings
  readonly #isResettable: boolean
  readonly #gate = new Gate(places.reading)
  readonly #running = new Set<Promise<unknown>>()

  constructor(pool: ConnectionPool, surroundings: Surroundings, isResettable: boolean) {
    this.#pool = pool
    this.#surroundings = surroundings
    this.#isResettable = isResettable
  }

  async read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const running = this.#readAnew(work)
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      throw asBusy(error) ?? error
    } finally {
      this.#running.delete(running)
    }
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#running)
  }

  /** Each connection may have statements prepared that another process's migration made useless; that one is given up. */
  async #readAnew<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#read(work)
      } catch (error) {
        if (attempt > places.reading || !isPreparedForOtherColumns(error)) throw error
      }
    }
  }

  async #read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#gate.enter()
    try {
      const session = new Session(await this.#connect(), this.#pool.prepares)
      const footing: Footing = { ...onlyReading, shared: (read) => read(tx) }
      const tx: PostgresTransaction = new PostgresTransaction(this.#surroundings, session, footing)
      // Beginning and end go out with the queries, so that they cost no round trip; the end is waited for by nobody.
      if (this.#isResettable) session.send(oneWorld.begin, this)
      try {
        return await work(tx)
      } finally {
        if (this.#isResettable) session.send(oneWorld.end, this)
        session.release()
      }
    } finally {
      this.#gate.leave()
    }
  }

  /** Where there is no connection, as many as wait would not get one either. */
  async #connect() {
    try {
      return await this.#pool.connect()
    } catch (error) {
      this.#gate.refuseLine(asBusy(error) ?? error)
      throw error
    }
  }
}

/** All queries between see the world of the first one. */
const oneWorld = {
  begin: { sql: 'begin isolation level repeatable read read only', parameters: [] },
  end: { sql: 'rollback', parameters: [] },
} as const

const refuse = (): never => {
  throw new Error('Bug: what only reads wants to write.')
}

const onlyReading: Omit<Footing, 'shared'> = {
  mayWriteEarly: refuse,
  apart: refuse,
  claim: refuse,
  lock: async () => refuse(),
  lockParty: async () => refuse(),
}
