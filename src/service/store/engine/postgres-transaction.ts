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
import type { Session } from './postgres-session.ts'
import type { RealClock } from './real-clock.ts'
import type { Finish, Transaction } from './store.ts'

/** The dependencies of every transaction of a store. */
export interface Surroundings {
  clock: RealClock
  wrapping: KeyWrapping
}

/** The capabilities of a transaction that depend on whether it shares its database transaction. */
export interface Footing extends Pick<Transaction, 'claim' | 'lock' | 'lockParty' | 'apart' | 'shared'> {
  /** Called before a statement that only a rollback of the whole transaction can undo. */
  mayWriteEarly(): void
}

/** A statement that waits to be sent, or the place of a savepoint, which is only created if a statement follows it. */
type Pending = { query: CompiledQuery; what: string | undefined } | Level

interface Level {
  savepoint: string
}

/**
 * The transaction of one job. Reads are sent at once; writes are sent together when the work is done or reads again.
 * So work that reads first and writes then leaves nothing behind if it is refused.
 */
export class PostgresTransaction implements Transaction {
  readonly dialect = 'postgres'
  readonly clock: RealClock
  readonly wrapping: KeyWrapping
  readonly journal = new Journal()
  readonly claim: Footing['claim']
  readonly lock: Footing['lock']
  readonly lockParty: Footing['lockParty']
  readonly apart: Footing['apart']
  readonly shared: Footing['shared']
  readonly #session: Session
  readonly #mayWriteEarly: () => void
  readonly #endings = new DeferredItems()
  #db: Kysely<Tables> | undefined
  #pending: Pending[] = []
  #depth = 0

  constructor({ clock, wrapping }: Surroundings, session: Session, footing: Footing) {
    this.clock = clock
    this.wrapping = wrapping
    this.claim = footing.claim
    this.lock = footing.lock
    this.lockParty = footing.lockParty
    this.apart = footing.apart
    this.shared = footing.shared
    this.#session = session
    this.#mayWriteEarly = footing.mayWriteEarly
  }

  /** Created only for code that builds its own queries. The hot paths use prepared ones. */
  get db(): Kysely<Tables> {
    this.#db ??= directKysely(kyselyDialect, (query) => this.query(query))
    return this.#db
  }

  async query<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const isWrite = !readsOnly(query)
    if (isWrite || this.#pending.some((one) => 'query' in one)) {
      this.#mayWriteEarly()
      this.#send(isWrite ? this.#pending.length : this.#endOfWrites())
    }
    return this.#session.run(query, this)
  }

  async write(query: CompiledQuery, what?: string): Promise<void> {
    this.#pending.push({ query, what })
  }

  atEnd<Item>(finish: Finish<Item>, item: Item): void {
    this.#endings.add(finish, item)
  }

  left<Item>(finish: Finish<Item>): Item[] {
    return this.#endings.for(finish)
  }

  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    this.#depth += 1
    const { count } = this.#endings
    const level: Level = { savepoint: `level_${this.#depth}` }
    this.#pending.push(level)
    try {
      const result = await work()
      // A later failure does not undo this work. If the savepoint was never sent, it need not be created at all.
      this.#pending = this.#pending.filter((one) => one !== level)
      return result
    } catch (error) {
      this.#endings.backTo(count)
      const at = this.#pending.indexOf(level)
      if (at >= 0) this.#pending.length = at
      else {
        this.#pending = []
        await this.#session.rollbackTo(level.savepoint, this)
      }
      throw error
    } finally {
      this.#depth -= 1
    }
  }

  /** Runs the deferred finishes, and sends all writes that wait. */
  async finish(): Promise<void> {
    await this.#endings.run(this)
    this.#send(this.#endOfWrites())
  }

  /** Returns how many pending entries to send: a savepoint that no write follows is not created. */
  #endOfWrites(): number {
    return this.#pending.findLastIndex((one) => 'query' in one) + 1
  }

  #send(count: number): void {
    for (const one of this.#pending.splice(0, count)) {
      if ('savepoint' in one) this.#session.send({ sql: `savepoint ${one.savepoint}`, parameters: [] }, this)
      else this.#session.send(one.query, this, one.what)
    }
  }
}

const kyselyDialect = {
  adapter: new PostgresAdapter(),
  compiler: new PostgresQueryCompiler(),
  createIntrospector: (db: Kysely<Tables>) => new PostgresIntrospector(db),
}

/** Returns whether a query changes nothing and locks nothing. */
function readsOnly({ query, sql }: CompiledQuery): boolean {
  return (
    query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b(?!.*\bfor update\b)/is.test(sql))
  )
}
