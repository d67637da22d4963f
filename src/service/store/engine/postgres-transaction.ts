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

/** The dependencies of every transaction of a store. */
export interface Surroundings {
  clock: RealClock
  wrapping: KeyWrapping
}

/** The capabilities of a transaction that depend on whether it shares its database transaction. */
export interface Footing extends Pick<Transaction, 'claim' | 'lock' | 'lockParty' | 'runAlone' | 'shared'> {
  /** Prepares for a statement that only a rollback of the whole database transaction can undo. */
  mayWriteEarly(): void
}

/**
 * The transaction of one job. Reads are sent at once. Writes are sent together when the job ends or reads again. A job
 * that reads first and is then refused has sent nothing that must be undone.
 */
export class PostgresTransaction implements Transaction {
  readonly dialect = 'postgres'
  readonly clock: RealClock
  readonly wrapping: KeyWrapping
  readonly journal = new Journal()
  readonly claim: Footing['claim']
  readonly lock: Footing['lock']
  readonly lockParty: Footing['lockParty']
  readonly runAlone: Footing['runAlone']
  readonly shared: Footing['shared']
  readonly #session: Session
  readonly #mayWriteEarly: () => void
  readonly #endings = new DeferredItems()
  #db: Kysely<Tables> | undefined
  readonly #pending: PendingWrites

  constructor({ clock, wrapping }: Surroundings, session: Session, footing: Footing) {
    this.clock = clock
    this.wrapping = wrapping
    this.claim = footing.claim
    this.lock = footing.lock
    this.lockParty = footing.lockParty
    this.runAlone = footing.runAlone
    this.shared = footing.shared
    this.#session = session
    this.#mayWriteEarly = footing.mayWriteEarly
    const receiver = {
      write: (query: CompiledQuery, rowLabel: string | undefined) => session.send(query, this, rowLabel),
      create: (savepoint: string) => session.send({ sql: `savepoint ${savepoint}`, parameters: [] }, this),
      rollbackTo: (savepoint: string) => session.rollbackTo(savepoint, this),
    }
    this.#pending = new PendingWrites(receiver, this.#endings)
  }

  /** Created only for code that builds its own queries. The hot paths use prepared queries. */
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

  /** Runs all deferred `finish` functions, and sends all waiting writes. */
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
