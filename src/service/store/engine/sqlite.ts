import { DatabaseSync } from 'node:sqlite'
import { nextTurn, type System } from '../../../core/system.ts'
import { Turns } from '../../../core/turns.ts'
import { creationOf } from './creation.ts'
import { FairQueue } from './fair-queue.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import { wrapKeys } from './keys-at-rest.ts'
import { RealClock } from './real-clock.ts'
import { asBusy, Connection, isLocked } from './sqlite-connection.ts'
import { createPrivateFile, fileSuffixes, isEmpty, makePrivate, requireUsableFile, watchFiles } from './sqlite-file.ts'
import { GroupRollbackError, SqliteTransaction } from './sqlite-transaction.ts'
import { StaleWriteError, type Store, StoreBusyError, type Transaction, type TransactionOptions } from './store.ts'

interface OpenSqlite {
  path: string
  system: System
  wrapping: KeyWrapping
  isResettable: boolean
}

/**
 * Opens a store on one SQLite file, or on a database in memory if the path is `:memory:`. Several processes may share
 * the file.
 *
 * One connection commits transactions in groups. Most of the cost of a commit is the wait for the disk, so transactions
 * that arrive during this wait share the next commit. The transactions of a group run in sequence, and their callers
 * get the results when the group is durable. A transaction that reads after a write gets a savepoint. If a transaction
 * without a savepoint fails after one of its writes, the whole group runs again with savepoints.
 */
export async function openSqlite({ path, system, wrapping, isResettable }: OpenSqlite): Promise<Store> {
  if (path !== ':memory:') {
    if (!createPrivateFile(path)) await whenUnlocked(system, () => requireUsableFile(path))
    for (const suffix of fileSuffixes) makePrivate(path + suffix)
  }
  // The driver's own wait for a lock would block the thread, so it is off and `whenUnlocked` waits instead.
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    await whenUnlocked(system, () => database.exec(settings))
    if (isEmpty(database)) await whenUnlocked(system, () => createTables(database, system))
    const store = new GroupCommittingStore(database, { path, system, wrapping, isResettable })
    // If `wrapKeys` has replaced keys in the database, the log still contains the old keys, so the log is emptied.
    if (await wrapKeys(store)) database.exec('pragma wal_checkpoint(truncate)')
    return store
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * With `synchronous = full`, a commit is on the disk when it returns, so a power failure loses no transaction that was
 * reported as committed. With `journal_size_limit`, a log that has grown larger shrinks to 8 MiB once its content is in
 * the database file.
 */
const settings = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma temp_store = memory;
  pragma secure_delete = on;
  pragma cache_size = -16000;
  pragma journal_size_limit = 8388608;
`

/**
 * The maximum number of jobs in a group. It limits how long the first job waits for the last one, and how many jobs
 * fail if the commit fails.
 */
const groupLimit = 64
/** The maximum number of turns of the event loop in which a group waits for more jobs. */
const gatheringTurns = 16
const queueLimit = 10_000
const attemptLimit = 20
/** The maximum number of attempts to get a lock. With pauses of 1 to 10 ms, they take about five seconds in all. */
const lockAttemptLimit = 900

interface Job {
  work: (tx: Transaction) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
  /** Resolves or rejects the caller's promise. To be called once the group is durable. */
  settle: () => void
}

class GroupCommittingStore implements Store {
  readonly dialect = 'sqlite'
  readonly clock: RealClock
  readonly #connection: Connection
  readonly #system: System
  readonly #tx: SqliteTransaction
  readonly #queue = new FairQueue<Job>()
  readonly #path: string
  readonly settling = new Turns()
  readonly #wrapping: KeyWrapping
  readonly #isResettable: boolean
  readonly #checkFiles: () => void
  /** The clock's epoch at the end of the last read. A new epoch begins when the world of the sandbox is replaced. */
  #epoch: unknown
  /** The connection for reads. The first read opens it. */
  #reader: { connection: Connection; tx: Transaction } | undefined
  #draining: Promise<void> | undefined
  #closed = false

  constructor(database: DatabaseSync, { path, system, wrapping, isResettable }: OpenSqlite) {
    this.#isResettable = isResettable
    this.#wrapping = wrapping
    this.#path = path
    this.#checkFiles = watchFiles(path)
    this.#connection = new Connection(database)
    this.#system = system
    this.clock = new RealClock(system, { shared: false })
    this.#tx = new SqliteTransaction(this.#connection, this.clock, wrapping)
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>, { partyId }: TransactionOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreBusyError('The database is closed.'))
    if (this.#queue.length >= queueLimit) return Promise.reject(new StoreBusyError('Too many transactions.'))
    return this.#enqueue(work, (job) => this.#queue.push(partyId, job))
  }

  aside<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreBusyError('The database is closed.'))
    return this.#enqueue(work, (job) => this.#queue.pushUrgent(job))
  }

  #enqueue<T>(work: (tx: Transaction) => Promise<T>, join: (job: Job) => void): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    join({ work, resolve: resolve as Job['resolve'], reject, settle: () => {} })
    this.#draining ??= this.#drain()
    return promise
  }

  /**
   * Reads on a separate connection, because in WAL mode readers do not wait for writers. A database in memory has only
   * one connection, so it is read in a transaction.
   */
  async read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#path === ':memory:') return this.transaction(work)
    if (!this.#isResettable) return this.#readOnce(work)
    for (let attempt = 1; attempt <= attemptLimit; attempt++) {
      const begun = this.#epoch ?? this.#epochNow()
      const [outcome] = await Promise.allSettled([this.#readOnce(work)])
      // If the world was replaced during the read, `work` may have seen parts of the old and of the new world, so it
      // runs again.
      if (this.#epochNow() !== begun) continue
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    }
    throw new StoreBusyError(`Gave up after ${attemptLimit} attempts: the world was replaced during each.`)
  }

  async #readOnce<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreBusyError('The database is closed.')
    this.#reader ??= this.#openReader()
    try {
      return await work(this.#reader.tx)
    } catch (error) {
      // The next read opens a new connection.
      if (error instanceof StoreBusyError) this.#endReader()
      throw error
    }
  }

  /** Reads the epoch, and stores it for the comparison after the next read. */
  #epochNow(): unknown {
    this.#reader ??= this.#openReader()
    this.#epoch = this.#reader.connection.value('select "epoch" from "clock"')
    return this.#epoch
  }

  #openReader() {
    try {
      const connection = new Connection(new DatabaseSync(this.#path, { readOnly: true, timeout: 0 }))
      return { connection, tx: new SqliteTransaction(connection, this.clock, this.#wrapping) }
    } catch (error) {
      throw asBusy(error) ?? error
    }
  }

  #endReader(): void {
    this.#reader?.connection.close()
    this.#reader = undefined
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#draining
    this.#endReader()
    this.#connection.close()
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather()
      await this.#commitGroup()
    }
    this.#draining = undefined
  }

  /**
   * Waits until a turn of the event loop adds no more jobs to the queue. Jobs that arrive together need several turns,
   * because the event loop delivers their requests one by one.
   */
  async #gather(): Promise<void> {
    for (let turn = 0; turn < gatheringTurns; turn++) {
      const { length } = this.#queue
      await nextTurn()
      if (this.#queue.length === length || this.#queue.length >= groupLimit) return
    }
  }

  /**
   * Runs a group of waiting jobs, and commits. After a GroupRollbackError, no more jobs join the group, and all its
   * jobs run again with savepoints.
   */
  async #commitGroup(): Promise<void> {
    const group: Job[] = []
    let isSpoiled = false
    const nextJobs = function* (this: GroupCommittingStore) {
      for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
        group.push(job)
        yield job
        if (group.length === groupLimit) return
      }
    }
    try {
      await whenUnlocked(this.#system, () => this.#connection.begin())
      try {
        for (const job of nextJobs.call(this)) await this.#attempt(job, false)
      } catch (error) {
        if (!(error instanceof GroupRollbackError)) throw error
        isSpoiled = true
      }
      if (isSpoiled) {
        this.#connection.command('rollback')
        await whenUnlocked(this.#system, () => this.#connection.begin())
        for (const job of group) await this.#attempt(job, true)
      }
      this.#checkFiles()
      this.#connection.command('commit')
    } catch (error) {
      const reason = this.#connection.rollback(error)
      // If no job could start, all jobs in the queue are rejected now, because each of them would only wait to get the
      // same error.
      const undone = group.length > 0 ? group : this.#queue.takeAll()
      for (const job of undone) job.reject(reason)
      return
    }
    for (const job of group) job.settle()
  }

  /**
   * Runs a job and sets its `settle`. Repeats the job after a StaleWriteError. @throws GroupRollbackError if the whole
   * group must run again.
   */
  async #attempt(job: Job, forceSavepoint: boolean): Promise<void> {
    for (let attempt = 1; attempt <= attemptLimit; attempt++) {
      try {
        const value = await this.#tx.run(job.work, forceSavepoint)
        job.settle = () => job.resolve(value)
        return
      } catch (error) {
        if (error instanceof GroupRollbackError) throw error
        job.settle = () => job.reject(error)
        if (!(error instanceof StaleWriteError)) return
      }
    }
    job.settle = () => job.reject(new StoreBusyError(`Gave up after ${attemptLimit} attempts because of conflicts.`))
  }
}

/** Creates the tables if no other process has done so already. */
function createTables(database: DatabaseSync, system: System): void {
  database.exec('begin immediate')
  try {
    if (isEmpty(database)) database.exec(creationOf('sqlite', system))
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Runs `use`, and repeats it while another connection has the lock that `use` needs. Does not block the thread. */
async function whenUnlocked(system: System, use: () => void | Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await use()
    } catch (error) {
      if (attempt === lockAttemptLimit || !isLocked(error)) throw asBusy(error) ?? error
    }
    const [random = 0] = system.randomBytes(1)
    await system.sleep(1 + (random % 10))
  }
}
