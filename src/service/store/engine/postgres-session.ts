import type { CompiledQuery, QueryResult } from 'kysely'
import type { PoolClient, QueryConfig } from 'pg'
import { isPreparedForOtherColumns } from './postgres-connections.ts'
import { StaleWriteError } from './store.ts'

/** in_failed_sql_transaction: what every statement is told that follows the one which failed. */
const alreadyFailed = '25P02'
/** division_by_zero: how a statement fails that had to change one row. */
const notOneRow = '22012'

/** What failed first in a transaction of the database, and whose statement it was. */
interface FirstFailure {
  error: unknown
  by: object
}

/** A query, with the name under which the server keeps it prepared, if it is worth that. */
export type Asked = Pick<CompiledQuery, 'sql' | 'parameters'> & { name?: string }

/**
 * What is asked on one connection. Each statement is sent at once, behind what was sent before it (`pipeline` of `pg`):
 * so only who needs an answer waits for one.
 */
export class Session {
  readonly #client: PoolClient
  readonly #prepares: boolean
  /** Settles with the answers to what nobody waits for; never rejects. */
  #sent: Promise<unknown> = Promise.resolve()
  #failure: FirstFailure | undefined
  #hasEnded = false
  #isGathering = false
  /** What it has prepared is of no use any more. */
  #isOutdated = false

  constructor(client: PoolClient, prepares: boolean) {
    this.#client = client
    this.#prepares = prepares
  }

  get failure(): FirstFailure | undefined {
    return this.#failure
  }

  async run<Row>(query: Asked, by: object): Promise<QueryResult<Row>> {
    // Who was refused may have asked for more than it looked at.
    if (this.#hasEnded) throw new Error('Bug: a transaction went on after its end.')
    try {
      const { command, rowCount, rows } = await this.#ask<Row>(query)
      return counted.has(command) ? { rows, numAffectedRows: BigInt(rowCount) } : { rows }
    } catch (error) {
      throw this.#failed(error, by)
    }
  }

  /** @param what Names the row that the statement had to change. */
  send(query: Asked, by: object, what?: string): void {
    if (this.#hasEnded) throw new Error('Bug: a transaction went on after its end.')
    const answer = this.#ask(query).catch((error) => {
      this.#failed(what !== undefined && error?.code === notOneRow ? new StaleWriteError(what) : error, by)
    })
    this.#sent = Promise.all([this.#sent, answer])
  }

  /** Undoes what came after a savepoint, failures too: the transaction goes on. */
  async rollbackTo(savepoint: string, by: object): Promise<void> {
    await this.#sent
    this.#failure = undefined
    await this.run({ sql: `rollback to savepoint ${savepoint}`, parameters: [] }, by)
  }

  /** Ends the transaction and gives the connection back. False: something failed, and nothing of it took effect. */
  async commit(): Promise<boolean> {
    const answer = this.#ask({ sql: 'commit', parameters: [] })
    this.#hasEnded = true
    try {
      // Sent with the writes: where one of them failed, the database undoes them all and says so.
      const [{ command }] = await Promise.all([answer, this.#sent])
      if (command !== 'COMMIT')
        this.#failure ??= { error: new Error('Bug: nothing failed, and all was undone.'), by: this }
      this.#client.release(this.#isOutdated)
    } catch (error) {
      this.#failure ??= { error, by: this }
      this.#giveUp()
    }
    return this.#failure === undefined
  }

  /** Undoes the transaction and gives the connection back. */
  async rollback(): Promise<void> {
    await this.#sent
    const answer = this.#hasEnded ? undefined : this.#ask({ sql: 'rollback', parameters: [] })
    this.#hasEnded = true
    try {
      await answer
      this.#client.release(this.#isOutdated)
    } catch {
      this.#giveUp()
    }
  }

  /** Gives the connection back, where there is no transaction to end. */
  release(): void {
    if (!this.#hasEnded) this.#client.release(this.#isOutdated)
    this.#hasEnded = true
  }

  /** Nobody knows what state the connection is in. */
  #giveUp(): void {
    this.#client.release(true)
  }

  /** A query without parameters may be several statements. */
  async #ask<Row>({ sql: text, parameters, name }: Asked) {
    const values = parameters.length === 0 ? {} : { values: parameters as unknown[] }
    const query: QueryConfig = { text, ...values, ...(name !== undefined && this.#prepares && { name }) }
    this.#sendTogether()
    const { command, rowCount, rows } = await this.#client.query(query)
    return { command, rowCount: rowCount ?? 0, rows: rows as Row[] }
  }

  /** What is asked in one turn goes out in one system call, which costs more than all else that a statement costs here. */
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

  #failed(error: unknown, by: object): unknown {
    this.#isOutdated ||= isPreparedForOtherColumns(error)
    this.#failure ??= { error, by }
    const isEcho = error instanceof Error && 'code' in error && error.code === alreadyFailed
    return isEcho ? this.#failure.error : error
  }
}

const counted: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])
