import type { CompiledQuery, QueryResult } from 'kysely'
import type { PoolClient, QueryConfig } from 'pg'
import { isOutdatedStatement } from './postgres-connections.ts'
import type { NamedQuery } from './prepared.ts'
import { StaleWriteError } from './store.ts'

/** in_failed_sql_transaction: the error of every statement that follows a failed statement in a transaction. */
const alreadyFailed = '25P02'
/** division_by_zero: the error with which a statement made by `changingOne` fails if it changes no row. */
const notOneRow = '22012'

/** The first failure in a database transaction. */
interface FirstFailure {
  error: unknown
  /** The sender of the failed statement, usually the `PostgresTransaction` of a job. */
  by: object
}

/** A query. If the server is to prepare it, `name` is the name of the prepared statement. */
export type QueryText = Pick<CompiledQuery, 'sql' | 'parameters'> & Partial<Pick<NamedQuery, 'name' | 'shape'>>

/**
 * Sends statements on one connection. Each statement is sent immediately, even before earlier ones are answered (the
 * `pipeline` option of `pg`). Only callers that need an answer wait for it.
 */
export class Session {
  readonly #client: PoolClient
  readonly #prepares: boolean
  /** Resolves when the answers to all statements passed to `send` have arrived; never rejects. */
  #sent: Promise<unknown> = Promise.resolve()
  #failure: FirstFailure | undefined
  #hasEnded = false
  #isGathering = false
  /** Whether a schema change has invalidated the connection's prepared statements. */
  #isOutdated = false

  constructor(client: PoolClient, prepares: boolean) {
    this.#client = client
    this.#prepares = prepares
  }

  get failure(): FirstFailure | undefined {
    return this.#failure
  }

  async run<Row>(query: QueryText, by: object): Promise<QueryResult<Row>> {
    // After a job fails, code that the job did not await may still run and send a query.
    if (this.#hasEnded) throw new Error('Bug: a query was sent after the end of its transaction.')
    try {
      const { command, rowCount, rows } = await this.#ask<Row>(query)
      return counted.has(command) ? { rows, numAffectedRows: BigInt(rowCount) } : { rows }
    } catch (error) {
      throw this.#recordFailure(error, by)
    }
  }

  /**
   * Sends a statement without waiting for its answer.
   * @param rowLabel The name of the one row that the statement must change. If the statement changes no row, it fails
   * with a `StaleWriteError` that contains this name.
   */
  send(query: QueryText, by: object, rowLabel?: string): void {
    if (this.#hasEnded) throw new Error('Bug: a query was sent after the end of its transaction.')
    const answer = this.#ask(query).catch((error) => {
      this.#recordFailure(
        rowLabel !== undefined && error?.code === notOneRow ? new StaleWriteError(rowLabel) : error,
        by,
      )
    })
    this.#sent = Promise.all([this.#sent, answer])
  }

  /** Undoes everything after a savepoint, and discards the recorded failure, so that the transaction can continue. */
  async rollbackTo(savepoint: string, by: object): Promise<void> {
    await this.#sent
    this.#failure = undefined
    await this.run({ sql: `rollback to savepoint ${savepoint}`, parameters: [] }, by)
  }

  /**
   * Commits, and returns the connection to the pool. Returns false if the commit or an earlier statement failed. The
   * database is then unchanged, except in one case: it committed, but its answer to the commit was lost.
   */
  async commit(): Promise<boolean> {
    const answer = this.#ask({ sql: 'commit', parameters: [] })
    this.#hasEnded = true
    try {
      // The commit is sent without waiting for the answers to the writes. If a write failed, the database rolls back
      // instead, and answers `ROLLBACK`.
      const [{ command }] = await Promise.all([answer, this.#sent])
      if (command !== 'COMMIT')
        this.#failure ??= { error: new Error('Bug: a commit was rolled back although no statement failed.'), by: this }
      this.#client.release(this.#isOutdated)
    } catch (error) {
      this.#failure ??= { error, by: this }
      this.#discard()
    }
    return this.#failure === undefined
  }

  /** Rolls back, and returns the connection to the pool. */
  async rollback(): Promise<void> {
    await this.#sent
    const answer = this.#hasEnded ? undefined : this.#ask({ sql: 'rollback', parameters: [] })
    this.#hasEnded = true
    try {
      await answer
      this.#client.release(this.#isOutdated)
    } catch {
      this.#discard()
    }
  }

  /** Returns the connection to the pool, unless `commit` or `rollback` has already done so. */
  release(): void {
    if (!this.#hasEnded) this.#client.release(this.#isOutdated)
    this.#hasEnded = true
  }

  /** Closes the connection, because its state is unknown. */
  #discard(): void {
    this.#client.release(true)
  }

  /** Sends a query and returns its answer. A query without parameters may consist of several statements. */
  async #ask<Row>({ sql: text, parameters, name, shape }: QueryText) {
    const values = parameters.length === 0 ? {} : { values: parameters as unknown[] }
    const prepared = name !== undefined && this.#prepares && { name }
    const query: QueryConfig = { text, ...values, ...prepared, ...(shape !== undefined && { rowMode: 'array' }) }
    this.#sendTogether()
    const { command, rowCount, rows } = await this.#client.query(query)
    const shaped = shape === undefined ? rows : rows.map((row) => shape.rowOf(row as unknown[]))
    return { command, rowCount: rowCount ?? 0, rows: shaped as Row[] }
  }

  /**
   * Ensures that all statements of one turn of the event loop are sent in one system call, because a system call costs
   * more than all other work for a statement.
   */
  #sendTogether(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    const { stream } = this.#client.connection
    stream.cork()
    process.nextTick(() => {
      this.#isGathering = false
      stream.uncork()
    })
  }

  #recordFailure(error: unknown, by: object): unknown {
    this.#isOutdated ||= isOutdatedStatement(error)
    this.#failure ??= { error, by }
    const isEcho = error instanceof Error && 'code' in error && error.code === alreadyFailed
    return isEcho ? this.#failure.error : error
  }
}

const counted: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])
