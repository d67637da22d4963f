import type { CompiledQuery, Kysely, QueryResult, UpdateResult } from 'kysely'
import type { Turns } from '../../../core/turns.ts'
import type { Tables } from '../schema/tables.ts'
import type { Journal } from './journal.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import type { RealClock } from './real-clock.ts'

/** The current load of a store, and its totals since it was opened. */
export interface StoreLoad {
  /** The number of transactions that wait to be run. */
  waiting: number
  /** The number of connections that are running transactions. */
  connections: number
  /** The number of database transactions begun. Each runs one or more transactions of the service. */
  groups: number
  /** The number of times that a transaction was run again. */
  retries: number
}

/**
 * The database. The service reads and writes it only with these methods. A transaction takes effect as a whole or not
 * at all, and its result is returned only once its changes are durable.
 */
export interface Store {
  readonly dialect: 'sqlite' | 'postgres'
  readonly clock: RealClock
  /**
   * A queue that runs batches of due effects one at a time. Two concurrent batches would block the thread for twice as
   * long.
   */
  readonly settling: Turns
  /**
   * Runs `work` in a transaction. Several calls may share one database transaction. If `work` throws, its changes are
   * rolled back, and the error is rethrown. After a `StaleWriteError` or a serialization failure in the database,
   * `work` runs again, up to a limit. So `work` must have no effects except through `tx`.
   * @throws StoreBusyError if the database cannot run the transaction now.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /**
   * Runs `work` as `transaction` does, but without waiting behind other transactions. Only small queries that must not
   * wait while the database is busy should use it.
   */
  aside<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs `work`, which must only read. It sees durable data and does not wait for writers. Each query may see a later
   * state than the previous query, so values that must be consistent with each other must be read in one query. If the
   * sandbox is reset meanwhile, either all queries see the data from before the reset, or all see the data from after
   * the reset.
   * @throws StoreBusyError if the database cannot run the queries now.
   */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Reads as `read` does, but from a standby, which may lag a little; undefined if there is no standby. */
  readonly readBehind?: Store['read'] | undefined
  /** Returns the load. Stores that do not measure their load lack this method. */
  load?(): StoreLoad
  close(): Promise<void>
}

export interface Transaction {
  readonly dialect: Store['dialect']
  readonly db: Kysely<Tables>
  /** This process's view of real time. */
  readonly clock: RealClock
  /** Encrypts the keys that the database stores, so that read access to the database does not reveal them. */
  readonly wrapping: KeyWrapping
  readonly journal: Journal
  /** Runs a compiled query and returns its result. */
  query<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>
  /**
   * Writes without waiting for an answer. If a write fails, the transaction fails, at the latest when it ends. A
   * database server receives a transaction's writes together, so reading first and then writing takes the fewest round
   * trips.
   * @param rowLabel The name of the row, for queries of `changingOne`. If such a query changes no row, the transaction
   * fails with a `StaleWriteError` that contains this name.
   */
  write(query: CompiledQuery, rowLabel?: string): Promise<void>
  /**
   * Saves `item` until the transaction's work is done. Then `finish` is called once with all items that were saved for
   * it. Use this method for writes to rows that other transactions also write, so that the locks on these rows are held
   * only briefly. A rollback to a savepoint drops the items that were added after the savepoint.
   */
  atEnd<Item>(finish: Finish<Item>, item: Item): void
  /** Returns the items deferred to `finish` so far. */
  deferred<Item>(finish: Finish<Item>): readonly Item[]
  /**
   * Calls `read`, if possible once for all transactions that share a database transaction. These transactions must not
   * change the data that `read` reads.
   */
  shared<T>(read: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs `work`. If it throws, only the writes of `work` are undone, and the error is rethrown. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
  /**
   * Claims a name until the transaction ends. Does not wait: returns false if another transaction of this process has
   * already claimed the name.
   */
  claim(name: string): boolean
  /** Waits for the lock with this name, and holds it until the transaction ends. */
  lock(name: string): Promise<void>
  /**
   * Locks everything that belongs to a party. If the transaction has to wait for the lock, it may be rolled back and
   * run again later, so that its connection is free meanwhile. It keeps its claims while it waits.
   */
  lockParty(partyId: string): Promise<void>
  /**
   * Declares that the transaction must run alone, for example because it locks rows of several parties. If it shares a
   * database transaction with other transactions, its work is rolled back and runs again alone.
   */
  runAlone(): void
}

/** A function that writes the deferred items of one kind at the end of a transaction. */
export type Finish<Item> = (tx: Transaction, items: readonly Item[]) => Promise<void>

/** The properties of a transaction that are known before it runs. */
export interface TransactionOptions {
  /** The party whose lock the transaction will probably take. Transactions with the same party run in sequence. */
  partyId?: string | undefined
  /**
   * The name that the transaction will claim. If the name is already claimed, the transaction does not wait for the
   * party's lock, because its own claim will fail anyway.
   */
  claim?: string | undefined
  /**
   * A name for the type of work. Only transactions with a kind can share a database transaction. Once a transaction has
   * had to run alone, later transactions of the same kind run alone from the start.
   */
  kind?: string | undefined
  /**
   * Whether the transaction reads or changes all tables, so that no other transaction of any process may run at the
   * same time. A store that cannot be reset does not enforce this.
   */
  alone?: boolean | undefined
}

/** Thrown if a write finds that its row has changed since the transaction read the row. */
export class StaleWriteError extends Error {
  /** The name of the row. */
  readonly rowLabel: string

  constructor(rowLabel: string) {
    super(`${rowLabel} was changed by another transaction.`)
    this.name = 'StaleWriteError'
    this.rowLabel = rowLabel
  }
}

/** Checks that a write changed exactly one row. @throws StaleWriteError if it did not. */
export function mustChangeOne(result: QueryResult<unknown> | UpdateResult, rowLabel: string): void {
  const changed = 'rows' in result ? result.numAffectedRows : result.numUpdatedRows
  if (changed !== 1n) throw new StaleWriteError(rowLabel)
}

/**
 * Thrown if the database is locked, full, unreachable or overloaded. The transaction had no effect, unless it was
 * committed and only the answer was lost. The request may be retried with an idempotency key.
 */
export class StoreBusyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreBusyError'
  }
}
