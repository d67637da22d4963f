import type { System } from '../../../core/system.ts'
import { Turns } from '../../../core/turns.ts'
import { creationOf } from './creation.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import { wrapKeys } from './keys-at-rest.ts'
import { originOf, requireUsable } from './origin.ts'
import { isServerError, keepsPrepared, openPool, transactionLimits } from './postgres-connections.ts'
import { PostgresReaders, readingConnections } from './postgres-readers.ts'
import { Transactions } from './postgres-transactions.ts'
import { RealClock } from './real-clock.ts'
import { type Store, StoreBusyError, type Transaction } from './store.ts'

interface OpenPostgres {
  url: string
  system: System
  wrapping: KeyWrapping
  isolation?: 'read committed' | 'serializable' | undefined
  /** The URL of a standby for reads. The standby's data may lag a little. */
  readUrl?: string | undefined
  /** The number of connections for transactions that write. */
  connections?: number | undefined
  isResettable: boolean
}

/**
 * The number of connections for each purpose. Even a small database server accepts more connections than these
 * together.
 */
const poolSizes = { writing: 10, reading: readingConnections, aside: 2 } as const
/**
 * The maximum number of connections for transactions that jobs share. Such transactions need few connections, because
 * each of them runs many jobs. The other connections are for jobs that run alone.
 */
const maxShared = 3

/** Opens a store on a PostgreSQL database. Any number of processes may share the database. */
export async function openPostgres(options: OpenPostgres): Promise<Store> {
  const {
    url,
    system,
    wrapping,
    isolation = 'read committed',
    readUrl,
    connections = poolSizes.writing,
    isResettable,
  } = options
  const prepares = await createTables(url, system)
  const dependencies = { clock: new RealClock(system, { shared: true }), wrapping }
  const pools = {
    writing: openPool(url, { connections, prepares }),
    reading: openPool(url, { connections: poolSizes.reading, prepares }),
    // These connections serve only `aside`, so that its queries do not wait behind other transactions.
    aside: openPool(url, { connections: poolSizes.aside, prepares }),
    ...(readUrl !== undefined && { standby: openPool(readUrl, { connections: poolSizes.reading }) }),
  }
  const begin = beginStatementOf(isolation, isResettable)
  const shared = { begin, system, dependencies }
  const together = Math.min(maxShared, Math.ceil(connections / 2))
  const maxWriting = { shared: together, alone: connections - together }
  const writing = new Transactions({ ...shared, pool: pools.writing, maxConcurrent: maxWriting })
  const aside = new Transactions({ ...shared, pool: pools.aside, maxConcurrent: { shared: 0, alone: poolSizes.aside } })
  const readers = new PostgresReaders(pools.reading, { dependencies, seesOneWorld: isResettable })
  const standby = pools.standby && new PostgresReaders(pools.standby, { dependencies, seesOneWorld: isResettable })
  let closing: Promise<void> | undefined
  const whileOpen = <T>(run: () => Promise<T>): Promise<T> =>
    closing === undefined ? run() : Promise.reject(new StoreBusyError('The database is closed.'))
  const store: Store = {
    dialect: 'postgres',
    clock: dependencies.clock,
    settling: new Turns(),
    transaction: (work, options) => whileOpen(() => writing.run(work, options)),
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
 * Returns a function that returns the statements that begin a transaction. If the sandbox can be reset, the transaction
 * first locks the table `clock`. The lock is exclusive if the transaction must run alone; otherwise, it is a shared
 * lock. Shared locks cost next to nothing, because PostgreSQL keeps weak table locks separately for each backend
 * process.
 */
function beginStatementOf(isolation: string, isResettable: boolean): (alone: boolean) => string {
  const begin = `begin isolation level ${isolation}; ${transactionLimits}`
  if (!isResettable) return () => begin
  return (alone) => `${begin}; lock table "clock" in ${alone ? 'exclusive' : 'row share'} mode`
}

/** The key of the advisory lock that a process holds while it creates the tables. */
const creationLock = 0x70_61_79_6d

/**
 * Creates the tables if there are none. Statements have no deadline here, because if several processes start at the
 * same time, one of them creates the tables and the others wait for it. Returns the result of `keepsPrepared`.
 * @throws WrongDatabaseError if the schema is not empty and this version of payments-mcp did not create it.
 */
async function createTables(url: string, system: System): Promise<boolean> {
  const pool = openPool(url, { connections: 1, isPatient: true })
  const client = await pool.connect()
  const readOrigin = () => originOf('postgres', async (query) => (await client.query(query)).rows)
  try {
    let origin = await readOrigin()
    if (origin === 'empty') {
      await client.query(`begin; select pg_advisory_xact_lock(${creationLock})`)
      origin = await readOrigin()
      await client.query(`${origin === 'empty' ? creationOf('postgres', system) : 'select 1'}; commit`)
    }
    requireUsable(origin)
  } finally {
    // Closes the connection, because a failure may have left it in the middle of a transaction.
    client.release(true)
  }
  try {
    return await keepsPrepared(pool)
  } finally {
    await pool.end()
  }
}

/**
 * Reads from the standby. Falls back to the primary if the standby is unreachable or reports an error, for example
 * because WAL replay canceled the query.
 */
async function readBehind<T>(
  standby: PostgresReaders,
  primary: PostgresReaders,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  try {
    return await standby.read(work)
  } catch (error) {
    if (error instanceof StoreBusyError || isServerError(error)) return primary.read(work)
    throw error
  }
}
