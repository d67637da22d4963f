import type { Kysely, QueryResult, UpdateResult } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import type { RealClock } from './real-clock.ts'
import type { Wrapping } from './wrapping.ts'

/**
 * The database. Everything the service reads or writes happens in a transaction of it, which takes effect as a whole
 * or not at all, and whose result is given back only once it is durable.
 */
export interface Store {
  readonly dialect: 'sqlite' | 'postgres'
  readonly clock: RealClock
  /**
   * Runs `work` in a transaction. What it throws undoes it and is thrown on. A `StaleWriteError` and the database's
   * own serialization failures run it again, a bounded number of times; so `work` has no effects but through `tx`.
   * @throws StoreBusyError when the database cannot take the transaction now; nothing was done.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** As `transaction`, but before all who wait for theirs: for what is asked while the database is busy. */
  aside<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Reads what is durable, without waiting for those who write. Each query sees the moment it is made in, so `work` asks
   * for one thing; it must not write.
   * @throws StoreBusyError as above.
   */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface Transaction {
  readonly db: Kysely<Tables>
  /** Real time, of which the database knows how far it has come. */
  readonly clock: RealClock
  /** How the keys in the database are kept from who reads it. */
  readonly wrapping: Wrapping
  /** Runs `work`; what it throws undoes its writes, keeps those before it, and is thrown on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
  /** Takes the lock of that name until the transaction ends; false, at once, when another transaction holds it. */
  tryLock(name: string): Promise<boolean>
  /** Takes the lock of that name until the transaction ends, waiting for it. */
  lock(name: string): Promise<void>
  /**
   * As `lock`, for what many wait for at once: who has to wait gives its connection back. So this transaction may be
   * undone here, and run again when its turn comes; until then it keeps what `tryLock` gave it.
   */
  takeTurn(name: string): Promise<void>
}

/** A compare-and-set found another version than the one it had read. */
export class StaleWriteError extends Error {
  constructor(what: string) {
    super(`${what} was changed by another transaction.`)
    this.name = 'StaleWriteError'
  }
}

/** @throws StaleWriteError where a compare-and-set did not change its one row. */
export function mustChangeOne(result: QueryResult<unknown> | UpdateResult, what: string): void {
  const changed = 'rows' in result ? result.numAffectedRows : result.numUpdatedRows
  if (changed !== 1n) throw new StaleWriteError(what)
}

/** The database is locked, full, unreachable or too contended: the transaction had no effect and may be tried later. */
export class StoreBusyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreBusyError'
  }
}
