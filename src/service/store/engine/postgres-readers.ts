import { Gate } from './gate.ts'
import { asBusy, type ConnectionPool, isOutdatedStatement } from './postgres-connections.ts'
import { Session } from './postgres-session.ts'
import { PostgresTransaction, type TransactionDependencies, type TransactionMode } from './postgres-transaction.ts'
import type { Transaction } from './store.ts'

/** The number of connections that a store opens for reads. */
export const readingConnections = 4

/** Reads committed data on separate connections, without the round trips that begin and end a transaction. */
export class PostgresReaders {
  readonly #pool: ConnectionPool
  readonly #dependencies: TransactionDependencies
  readonly #seesOneWorld: boolean
  readonly #gate = new Gate(readingConnections)
  readonly #running = new Set<Promise<unknown>>()

  /** @param seesOneWorld Whether all queries of one read must see the same state of the database. */
  constructor(
    pool: ConnectionPool,
    { dependencies, seesOneWorld }: { dependencies: TransactionDependencies; seesOneWorld: boolean },
  ) {
    this.#pool = pool
    this.#dependencies = dependencies
    this.#seesOneWorld = seesOneWorld
  }

  async read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const running = this.#readWithRetries(work)
    this.#running.add(running)
    try {
      return await running
    } catch (error) {
      throw asBusy(error) ?? error
    } finally {
      this.#running.delete(running)
    }
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#running)
  }

  /**
   * Runs a read. If a schema change has invalidated the connection's prepared statements, runs the read again on a
   * different connection.
   */
  async #readWithRetries<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#read(work)
      } catch (error) {
        if (attempt > readingConnections || !isOutdatedStatement(error)) throw error
      }
    }
  }

  async #read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#gate.enter()
    try {
      const session = new Session(await this.#connect(), this.#pool.prepares)
      const mode: TransactionMode = { ...onlyReading, shared: (read) => read(tx) }
      const tx: PostgresTransaction = new PostgresTransaction(this.#dependencies, session, mode)
      // The statements that begin and end the transaction cost no round trips: they are sent without waiting for their
      // answers.
      if (this.#seesOneWorld) session.send(snapshotTransaction.begin, this)
      try {
        return await work(tx)
      } finally {
        if (this.#seesOneWorld) session.send(snapshotTransaction.end, this)
        session.release()
      }
    } finally {
      this.#gate.leave()
    }
  }

  /**
   * Takes a connection from the pool. If that fails, also rejects all reads that wait for a connection, because they
   * would fail in the same way.
   */
  async #connect() {
    try {
      return await this.#pool.connect()
    } catch (error) {
      this.#gate.refuseLine(asBusy(error) ?? error)
      throw error
    }
  }
}

/** Statements that begin and end a transaction in which all queries see the state that the first query sees. */
const snapshotTransaction = {
  begin: { sql: 'begin isolation level repeatable read read only', parameters: [] },
  end: { sql: 'rollback', parameters: [] },
} as const

const refuse = (): never => {
  throw new Error('Bug: a read tried to write.')
}

const onlyReading: Omit<TransactionMode, 'shared'> = {
  mayWriteEarly: refuse,
  runAlone: refuse,
  claim: refuse,
  lock: async () => refuse(),
  lockParty: async () => refuse(),
}
