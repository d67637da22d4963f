import type { CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { DeferredItems } from './deferred-items.ts'
import { Journal } from './journal.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import { PendingWrites, readsOnly } from './pending-writes.ts'
import type { RealClock } from './real-clock.ts'
import { type Connection, kyselyOver } from './sqlite-connection.ts'
import { type Finish, StaleWriteError, StoreBusyError, type Transaction } from './store.ts'

/**
 * Thrown if a job without a savepoint fails after a write. The whole group of the job is then rolled back and runs
 * again.
 */
export class GroupRollbackError extends Error {}

/**
 * The current transaction of an SQLite connection. If the connection is for writes, the jobs of the transaction run one
 * at a time, and no other process can write before the transaction ends.
 */
export class SqliteTransaction implements Transaction {
  readonly dialect = 'sqlite'
  readonly db: Kysely<Tables>
  readonly clock: RealClock
  readonly wrapping: KeyWrapping
  journal = new Journal()
  readonly #connection: Connection
  #endings = new DeferredItems()
  #pending: PendingWrites
  #savepoint: 'none' | 'needed' | 'set' = 'none'
  #written = 0

  constructor(connection: Connection, clock: RealClock, wrapping: KeyWrapping) {
    this.#connection = connection
    this.db = kyselyOver((query) => this.query(query))
    this.clock = clock
    this.wrapping = wrapping
    this.#pending = new PendingWrites(this.#receiver, this.#endings)
  }

  /**
   * Runs a job to its end. A job that writes only at its end gets no savepoint, because SQLite copies every page that
   * changes under a savepoint. Without these copies, a write takes 7% less CPU time.
   * @param forceSavepoint Whether the job gets a savepoint in any case, so that it can be undone alone.
   * @throws GroupRollbackError if the job fails after it has written without a savepoint.
   */
  async run<T>(work: (tx: Transaction) => Promise<T>, forceSavepoint: boolean): Promise<T> {
    this.#endings = new DeferredItems()
    this.#pending = new PendingWrites(this.#receiver, this.#endings)
    this.journal = new Journal()
    this.#savepoint = 'needed'
    this.#written = 0
    try {
      const value = await work(this)
      await this.#endings.run(this)
      if (forceSavepoint) this.#beginSavepoint()
      this.#pending.send()
      if (this.#hasSavepoint) this.#connection.command('release job')
      return value
    } catch (error) {
      if (this.#hasSavepoint) {
        this.#connection.command('rollback to job')
        this.#connection.command('release job')
      } else if (this.#written > 0 && !(error instanceof StoreBusyError)) throw new GroupRollbackError()
      throw error
    } finally {
      this.#savepoint = 'none'
    }
  }

  get #hasSavepoint(): boolean {
    return this.#savepoint === 'set'
  }

  /**
   * Creates the job's savepoint if it does not exist yet. Does nothing on a connection for reads, which runs no jobs.
   */
  #beginSavepoint(): void {
    if (this.#savepoint !== 'needed') return
    this.#connection.command('savepoint job')
    this.#savepoint = 'set'
  }

  readonly #receiver = {
    write: (query: CompiledQuery, rowLabel: string | undefined) => {
      const { numAffectedRows } = this.#connection.query(query)
      this.#written += 1
      if (rowLabel !== undefined && numAffectedRows !== 1n) throw new StaleWriteError(rowLabel)
    },
    create: (savepoint: string) => this.#connection.command(`savepoint ${savepoint}`),
    rollbackTo: (savepoint: string) => this.#connection.command(`rollback to ${savepoint}`),
  }

  async query<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const isWrite = !readsOnly(query)
    if (isWrite || !this.#pending.isEmpty) {
      this.#beginSavepoint()
      if (isWrite) this.#pending.sendAll()
      else this.#pending.send()
    }
    return this.#connection.query<Row>(query)
  }

  async write(query: CompiledQuery, rowLabel?: string): Promise<void> {
    this.#pending.add(query, rowLabel)
  }

  atEnd<Item>(finish: Finish<Item>, item: Item): void {
    this.#endings.add(finish, item)
  }

  deferred<Item>(finish: Finish<Item>): Item[] {
    return this.#endings.for(finish)
  }

  /**
   * Calls `read` again for each job, because the jobs of a group run in sequence, and an earlier job may have changed
   * the data.
   */
  async shared<T>(read: (tx: Transaction) => Promise<T>): Promise<T> {
    return read(this)
  }

  savepoint<T>(work: () => Promise<T>): Promise<T> {
    return this.#pending.savepoint(work)
  }

  claim(): boolean {
    return true
  }

  async lock(): Promise<void> {}

  async lockParty(): Promise<void> {}

  runAlone(): void {}
}
