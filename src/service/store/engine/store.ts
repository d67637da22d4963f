import type { CompiledQuery, Kysely, QueryResult, UpdateResult } from 'kysely'
import type { Turns } from '../../../core/turns.ts'
import type { Tables } from '../schema/tables.ts'
import type { Journal } from './journal.ts'
import type { RealClock } from './real-clock.ts'
import type { Wrapping } from './wrapping.ts'

/** How busy a store is now, and what it came to since it was opened. */
export interface StoreLoad {
  /** Transactions that wait for their turn. */
  waiting: number
  connections: number
  /** Commits, each of one or more transactions. */
  groups: number
  /** Transactions that were run again. */
  retries: number
}

/**
 * The database. Everything the service reads or writes happens in a transaction of it, which takes effect as a whole
 * or not at all, and whose result is given back only once it is durable.
 */
export interface Store {
  readonly dialect: 'sqlite' | 'postgres'
  readonly clock: RealClock
  /** Applies due effects one window at a time: two at once would hold the thread for twice as long. */
  readonly settling: Turns
  /**
   * Runs `work` in a transaction, which many may share. What it throws undoes it and is thrown on. A `StaleWriteError`
   * and the database's own serialization failures run it again, a bounded number of times; so `work` has no effects but
   * through `tx`.
   * @throws StoreBusyError when the database cannot take the transaction now; nothing was done.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** As `transaction`, but before all who wait for theirs: for what is asked while the database is busy. */
  aside<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Reads what is durable, without waiting for those who write; it must not write. Each query may see the moment it is
   * made in, so `work` asks for one thing; but all see one world, the one before a reset of the sandbox or the one after it.
   * @throws StoreBusyError as above.
   */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** As `read`, but from a standby, which may be a little behind; undefined where there is none. */
  readonly readBehind?: Store['read'] | undefined
  /** Undefined where nobody counts it. */
  load?(): StoreLoad
  close(): Promise<void>
}

export interface Transaction {
  readonly dialect: Store['dialect']
  readonly db: Kysely<Tables>
  /** Real time, of which the database knows how far it has come. */
  readonly clock: RealClock
  /** How the keys in the database are kept from who reads it. */
  readonly wrapping: Wrapping
  readonly journal: Journal
  /** Runs a compiled query and gives its answer. */
  query<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>
  /**
   * Writes without waiting for an answer: whatever fails fails the transaction, at the latest when it ends. Where the
   * database is a server the writes of a transaction are sent together, so that a transaction that reads first and
   * writes then costs the fewest round trips.
   * @param what Is told by the `StaleWriteError` that ends the transaction when not exactly one row is changed. The
   * query is then one of `changingOne`.
   */
  write(query: CompiledQuery, what?: string): Promise<void>
  /**
   * Hands `item` to `finish`, together with the others of this transaction, when its work is done: for what is written
   * last, since it locks what others wait for. What a savepoint undoes is not handed over.
   */
  atEnd<Item>(finish: Finish<Item>, item: Item): void
  /** Returns the items that were handed to `finish` so far. */
  left<Item>(finish: Finish<Item>): readonly Item[]
  /**
   * Reads what is the same for all whose work shares one transaction of the database: there it is read once. Nobody who
   * shares one changes it.
   */
  shared<T>(read: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs `work`; what it throws undoes its writes, keeps those before it, and is thrown on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>
  /** Has the name until the transaction ends; false, at once, when another transaction of this process has it. */
  claim(name: string): boolean
  /** Takes the lock of that name until the transaction ends, waiting for it. */
  lock(name: string): Promise<void>
  /**
   * As `lock`, for all that belongs to a party, and where many wait at once: who has to wait gives its connection back.
   * So this transaction may be undone here, and run again when its turn comes; until then it keeps what it claimed.
   */
  lockParty(partyId: string): Promise<void>
  /** What follows locks rows of several parties, for which a transaction is not to be shared: it may be run again alone. */
  apart(): void
}

/** Writes what was left of one kind for the end of a transaction. */
export type Finish<Item> = (tx: Transaction, items: readonly Item[]) => Promise<void>

/** What is known of a transaction before it runs. */
export interface TransactionOptions {
  /** The party whose lock it will most likely take: of those that want the same one runs after another. */
  partyId?: string | undefined
  /** The name that it will claim: who comes while it is claimed does not wait for the party, since it will be refused. */
  claim?: string | undefined
  /** Names what it does, so that what could not share a transaction once is not tried again. */
  kind?: string | undefined
  /**
   * It sees and changes everything: no other transaction of any process runs meanwhile. Where the store cannot be reset
   * there is none of that.
   */
  alone?: boolean | undefined
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
