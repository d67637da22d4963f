import {
  type CompiledQuery,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { DeferredItems } from './deferred-items.ts'
import { directKysely } from './direct-kysely.ts'
import { Journal } from './journal.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import { PendingWrites, readsOnly } from './pending-writes.ts'
import type { Session } from './postgres-session.ts'
import type { RealClock } from './real-clock.ts'
import type { Finish, Transaction } from './store.ts'

/** The dependencies that all transactions of a store share. */
export interface TransactionDependencies {
  clock: RealClock
  wrapping: KeyWrapping
}

/** The methods that work differently in a shared transaction, in one that runs alone, and in one that only reads. */
export interface TransactionMode extends Pick<Transaction, 'claim' | 'lock' | 'lockParty' | 'runAlone' | 'shared'> {
  /**
   * Throws if the job may not send writes before it ends. In a shared transaction, a job that fails after it has sent
   * writes could be undone only together with the other jobs.
   */
  mayWriteEarly(): void
}

/**
 * The transaction of one job. Reads are sent immediately. Writes are collected, and are sent together when the job ends
 * or reads again. If a job fails before its writes are sent, the database has nothing to undo.
 */
export class PostgresTransaction implements Transaction {
  readonly dialect = 'postgres'
  readonly clock: RealClock
  readonly wrapping: KeyWrapping
  readonly journal = new Journal()
  readonly claim: TransactionMode['claim']
  readonly lock: TransactionMode['lock']
  readonly lockParty: TransactionMode['lockParty']
  readonly runAlone: TransactionMode['runAlone']
  readonly shared: TransactionMode['shared']
  readonly #session: Session
  readonly #mayWriteEarly: () => void
  readonly #endings = new DeferredItems()
  #db: Kysely<Tables> | undefined
  readonly #pending: PendingWrites

  constructor({ clock, wrapping }: TransactionDependencies, session: Session, mode: TransactionMode) {
    this.clock = clock
    this.wrapping = wrapping
    this.claim = mode.claim
    this.lock = mode.lock
    this.lockParty = mode.lockParty
    this.runAlone = mode.runAlone
    this.shared = mode.shared
    this.#session = session
    this.#mayWriteEarly = mode.mayWriteEarly
    const receiver = {
      write: (query: CompiledQuery, rowLabel: string | undefined) => session.send(query, this, rowLabel),
      create: (savepoint: string) => session.send({ sql: `savepoint ${savepoint}`, parameters: [] }, this),
      rollbackTo: (savepoint: string) => session.rollbackTo(savepoint, this),
    }
    this.#pending = new PendingWrites(receiver, this.#endings)
  }

  /** The query builder. It is created on first use, because most jobs use only prepared queries. */
  get db(): Kysely<Tables> {
    this.#db ??= directKysely(kyselyDialect, (query) => this.query(query))
    return this.#db
  }

  async query<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const isWrite = !readsOnly(query)
    if (isWrite || !this.#pending.isEmpty) {
      this.#mayWriteEarly()
      if (isWrite) this.#pending.sendAll()
      else this.#pending.send()
    }
    return this.#session.run(query, this)
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

  savepoint<T>(work: () => Promise<T>): Promise<T> {
    return this.#pending.savepoint(work)
  }

  /** Runs the `finish` functions of all deferred items, and sends all pending writes. */
  async finish(): Promise<void> {
    await this.#endings.run(this)
    this.#pending.send()
  }
}

const kyselyDialect = {
  adapter: new PostgresAdapter(),
  compiler: new PostgresQueryCompiler(),
  createIntrospector: (db: Kysely<Tables>) => new PostgresIntrospector(db),
}
