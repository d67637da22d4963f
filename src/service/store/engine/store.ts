import type { CompiledQuery, Kysely, QueryResult, UpdateResult } from 'kysely'
import type { Turns } from '../../../core/turns.ts'
import type { Tables } from '../schema/tables.ts'
import type { Journal } from './journal.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import type { RealClock } from './real-clock.ts'

/** The current load of a store, and its totals since it was opened. */
export interface StoreLoad {
  /** Transactions that wait for their turn. */
  waiting: number
  connections: number
  /** Commits. Each commit includes one or more transactions. */
  groups: number
  /** Transactions that were run again. */
  retries: number
}

/**
 * The database. All reads and writes of the service happen in its transactions. A transaction takes effect as a whole
 * or not at all, and its result is returned only once it is durable.
 */
export interface Store {
  readonly dialect: 'sqlite' | 'postgres'
  readonly clock: RealClock
  /** Serializes batches of due effects, because two at once would block the thread for twice as long. */
  readonly settling: Turns
  /**
   * Runs `work` in a transaction. Several calls may share one database transaction. If `work` throws, its changes are
   * rolled back, and the error is rethrown. After a `StaleWriteError` or a serialization failure in the database,
   * `work` runs again, up to a limit. So `work` must have no effects except through `tx`.
   * @throws StoreBusyError if the database cannot run the transaction now. The transaction then has no effect.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * Runs `work` as `transaction` does, but ahead of all waiting transactions. It is for small queries that must not
   * wait while the database is busy.
   */
  aside<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Reads durable data without waiting for writers; it must not write. Each query may see a different moment, so facts
   * that must agree belong in one query. All queries see the same world, either before or after a reset of the sandbox.
   * @throws StoreBusyError as above.
   */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Reads as `read` does, but from a standby, which may lag a little; undefined if there is no standby. */
  readonly readBehind?: Store['read'] | undefined
  /** Returns the load; the method is missing if the store does not count it. */
  load?(): StoreLoad
  close(): Promise<void>
}

export interface Transaction {
  readonly dialect: Store['dialect']
  readonly db: Kysely<Tables>
  /** Real time. The database records the latest time seen. */
  readonly clock: RealClock
  /** Encrypts the keys in the database, so that read access to it does not reveal them. */
  readonly wrapping: KeyWrapping
  readonly journal: Journal
  /** Runs a compiled query and returns its result. */
  query<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>
  /**
   * Writes without waiting for an answer. A failed write fails the transaction, at the latest when it ends. A database
   * server receives a transaction's writes together, so reading first and then writing takes the fewest round trips.
   * @param rowLabel The name of the row, for queries of `changingOne`. If such a query does not change exactly one row,
   * a `StaleWriteError` with this name ends the transaction.
   */
  write(query: CompiledQuery, rowLabel?: string): Promise<void>
  /**
   * Defers `item` to `finish`, which gets all such items when the transaction's work is done. Use it for writes to rows
   * that other transactions also write, so that the locks on these rows are held only briefly. A savepoint that is
   * rolled back drops its items.
   */
  atEnd<Item>(finish: Finish<Item>, item: Item): void
  /** Returns the items deferred to `finish` so far. */
  deferred<Item>(finish: Finish<Item>): readonly Item[]
  /** Reads data once for all jobs that share a database transaction. No job that shares one may change that data. */
  shared<T>(read: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs `work`. If it throws, its writes are undone, earlier ones are kept, and the error is rethrown. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
  /** Claims a name until the transaction ends. Returns false at once if another transaction of this process has it. */
  claim(name: string): boolean
  /** Waits for the lock with this name, and keeps it until the transaction ends. */
  lock(name: string): Promise<void>
  /**
   * Locks everything that belongs to a party. Unlike with `lock`, a transaction that has to wait gives up its
   * connection: it may be rolled back here and run again when its turn comes. It keeps its claims while it waits.
   */
  lockParty(partyId: string): Promise<void>
  /**
   * Declares that the following statements lock rows of several parties. If the transaction is shared, it is rolled
   * back and runs again alone.
   */
  runAlone(): void
}

/** A function that writes the deferred items of one kind at the end of a transaction. */
export type Finish<Item> = (tx: Transaction, items: readonly Item[]) => Promise<void>

/** The properties of a transaction that are known before it runs. */
export interface TransactionOptions {
  /** The party whose lock it will most likely take. Transactions with the same party run in sequence. */
  partyId?: string | undefined
  /**
   * The name it will claim. A transaction whose name is already claimed does not wait for the party, because it will be
   * refused.
   */
  claim?: string | undefined
  /**
   * A name for the work it does. Once a transaction of this kind has turned out not to be shareable, later ones are not
   * shared either.
   */
  kind?: string | undefined
  /**
   * Whether it reads and changes everything. While it runs, no other transaction of any process runs. On a store that
   * cannot be reset, this has no effect.
   */
  alone?: boolean | undefined
}

/** Thrown if a compare-and-set finds a version other than the one that was read. */
export class StaleWriteError extends Error {
  /** The name of the row. */
  readonly rowLabel: string

  constructor(rowLabel: string) {
    super(`${rowLabel} was changed by another transaction.`)
    this.name = 'StaleWriteError'
    this.rowLabel = rowLabel
  }
}

/** Checks that a compare-and-set changed its one row. @throws StaleWriteError if it did not. */
export function mustChangeOne(result: QueryResult<unknown> | UpdateResult, rowLabel: string): void {
  const changed = 'rows' in result ? result.numAffectedRows : result.numUpdatedRows
  if (changed !== 1n) throw new StaleWriteError(rowLabel)
}

/**
 * Thrown if the database is locked, full, unreachable or too contended. The transaction had no effect and may be
 * retried.
 */
export class StoreBusyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreBusyError'
  }
}
