import type { CompiledQuery, Kysely } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { DeferredItems } from './deferred-items.ts'
import { Journal } from './journal.ts'
import type { KeyWrapping } from './key-wrapping.ts'
import type { RealClock } from './real-clock.ts'
import { type Connection, kyselyOver } from './sqlite-connection.ts'
import { type Finish, StaleWriteError, type Transaction } from './store.ts'

/** A transaction on the one connection. Jobs run one at a time, and `begin immediate` keeps other processes out. */
export class SqliteTransaction implements Transaction {
  readonly dialect = 'sqlite'
  readonly db: Kysely<Tables>
  readonly clock: RealClock
  readonly wrapping: KeyWrapping
  journal = new Journal()
  readonly #connection: Connection
  #endings = new DeferredItems()
  #depth = 0

  constructor(connection: Connection, clock: RealClock, wrapping: KeyWrapping) {
    this.#connection = connection
    this.db = kyselyOver(connection)
    this.clock = clock
    this.wrapping = wrapping
  }

  /** Runs a job to its end. */
  async run<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    this.#endings = new DeferredItems()
    this.journal = new Journal()
    const value = await work(this)
    await this.#endings.run(this)
    return value
  }

  async query<Row>(query: CompiledQuery<Row>) {
    return this.#connection.query<Row>(query)
  }

  async write(query: CompiledQuery, what?: string): Promise<void> {
    const { numAffectedRows } = this.#connection.query(query)
    if (what !== undefined && numAffectedRows !== 1n) throw new StaleWriteError(what)
  }

  atEnd<Item>(finish: Finish<Item>, item: Item): void {
    this.#endings.add(finish, item)
  }

  left<Item>(finish: Finish<Item>): Item[] {
    return this.#endings.for(finish)
  }

  /**
   * Jobs that share a commit run in sequence and each sees the changes of those before, so nothing can be read once for
   * all.
   */
  async shared<T>(read: (tx: Transaction) => Promise<T>): Promise<T> {
    return read(this)
  }

  async savepoint<T>(work: () => Promise<T>): Promise<T> {
    this.#depth += 1
    const name = `level_${this.#depth}`
    const { count } = this.#endings
    this.#connection.command(`savepoint ${name}`)
    try {
      // Not released here: the release or rollback of the job's own savepoint ends this one too.
      return await work()
    } catch (error) {
      this.#connection.command(`rollback to ${name}`)
      this.#endings.backTo(count)
      throw error
    } finally {
      this.#depth -= 1
    }
  }

  claim(): boolean {
    return true
  }

  async lock(): Promise<void> {}

  async lockParty(): Promise<void> {}

  apart(): void {}
}
