import {
  type CompiledQuery,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { directKysely } from './direct-kysely.ts'
import { Endings } from './endings.ts'
import { Journal } from './journal.ts'
import type { Session } from './postgres-session.ts'
import type { RealClock } from './real-clock.ts'
import type { Finish, Transaction } from './store.ts'
import type { Wrapping } from './wrapping.ts'

/** What every transaction of a store has. */
export interface Surroundings {
  clock: RealClock
  wrapping: Wrapping
}

/** What a work may do in a transaction of the database depends on whether it has one to itself. */
export interface Footing extends Pick<Transaction, 'claim' | 'lock' | 'lockParty' | 'apart' | 'shared'> {
  /** Asked before something is sent that cannot be taken back without undoing the whole transaction. */
  mayWriteEarly(): void
}

/** A statement that waits to be sent, or where a savepoint goes if anything follows it. */
type Pending = { query: CompiledQuery; what: string | undefined } | Level

interface Level {
  savepoint: string
}

/**
 * What one work does in a transaction of the database: its reads are asked at once, its writes are sent together when it
 * is done, or when it reads again. So a work that reads first and writes then leaves nothing behind where it is refused.
 */
export class PostgresTransaction implements Transaction {
  readonly dialect = 'postgres'
  readonly clock: RealClock
  readonly wrapping: Wrapping
  readonly journal = new Journal()
  readonly claim: Footing['claim']
  readonly lock: Footing['lock']
  readonly lockParty: Footing['lockParty']
  readonly apart: Footing['apart']
  readonly shared: Footing['shared']
  readonly #session: Session
  readonly #mayWriteEarly: () => void
  readonly #endings = new Endings()
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

  /** Made for who builds a query of its own: the hot paths have theirs prepared. */
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
      // What comes after it is not undone with it: where nothing was sent, it need not be made at all.
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

  /** Writes what was left for the end, and sends all writes that wait. */
  async finish(): Promise<void> {
    await this.#endings.run(this)
    this.#send(this.#endOfWrites())
  }

  /** A savepoint that no write follows need not be made. */
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

/** Whether a query can change nothing, and holds nobody up. */
function readsOnly({ query, sql }: CompiledQuery): boolean {
  return (
    query.kind === 'SelectQueryNode' || (query.kind === 'RawNode' && /^\s*select\b(?!.*\bfor update\b)/is.test(sql))
  )
}
