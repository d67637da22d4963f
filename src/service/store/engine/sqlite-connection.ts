import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { directKysely } from './direct-kysely.ts'
import type { JoinedShape } from './joined-rows.ts'
import { StoreBusyError } from './store.ts'

/** A connection to an SQLite database, with a cache of prepared statements. */
export class Connection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, PreparedStatement>()
  #uses = 0
  /**
   * The error with which the database failed; undefined if it did not fail. SQLite may have rolled back the transaction
   * because of this error, so no more statements run before `rollback` is called.
   */
  #failure: StoreBusyError | undefined

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  query<Row>(query: CompiledQuery & { shape?: JoinedShape | undefined }): QueryResult<Row> {
    const { shape } = query
    const parameters = query.parameters as SQLInputValue[]
    return this.#guard(() => {
      const { statement, returnsRows } = this.#prepare(query.sql, shape !== undefined)
      if (shape !== undefined) {
        const rows = statement.all(...parameters) as unknown as unknown[][]
        return { rows: rows.map((values) => shape.rowOf(values) as Row) }
      }
      if (returnsRows) return { rows: statement.all(...parameters) as Row[] }
      return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) }
    })
  }

  /** Runs a query and returns the first column of the first row. */
  value(sql: string): unknown {
    return this.#guard(() => Object.values(this.#prepare(sql).statement.get() ?? {})[0])
  }

  command(sql: string): void {
    this.#guard(() => this.#prepare(sql).statement.run())
  }

  begin(): void {
    this.#prepare('begin immediate').statement.run()
  }

  /** Rolls back uncommitted changes after the error `cause`. Returns the error to report to the callers. */
  rollback(cause: unknown): StoreBusyError {
    this.#failure = undefined
    try {
      // After some failures, SQLite has already rolled back.
      if (this.#database.isTransaction) this.#prepare('rollback').statement.run()
    } catch (error) {
      return new StoreBusyError('The transaction cannot be rolled back.', { cause: new AggregateError([cause, error]) })
    }
    return asBusy(cause) ?? new StoreBusyError('The database did not commit the transaction.', { cause })
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  #guard<T>(run: () => T): T {
    if (this.#failure !== undefined) throw this.#failure
    try {
      return run()
    } catch (error) {
      this.#failure = asBusy(error)
      throw this.#failure ?? error
    }
  }

  #prepare(sql: string, returnsArrays = false): PreparedStatement {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) {
      cached.lastUse = ++this.#uses
      return cached
    }
    if (this.#statements.size >= statementLimit) this.#forgetHalf()
    const statement = this.#database.prepare(sql)
    statement.setReturnArrays(returnsArrays)
    const prepared = { statement, returnsRows: statement.columns().length > 0, lastUse: ++this.#uses }
    this.#statements.set(sql, prepared)
    return prepared
  }

  /**
   * Drops the least recently used half of the statements. Sorting the statements occasionally is cheaper than
   * reordering them at each use.
   */
  #forgetHalf(): void {
    const byLastUse = [...this.#statements].sort(([, a], [, b]) => a.lastUse - b.lastUse)
    for (const [sql] of byLastUse.slice(0, statementLimit / 2)) this.#statements.delete(sql)
  }
}

interface PreparedStatement {
  statement: StatementSync
  returnsRows: boolean
  lastUse: number
}

/** Returns a Kysely instance that runs every query with `run`. */
export function kyselyOver(run: <Row>(query: CompiledQuery) => Promise<QueryResult<Row>>): Kysely<Tables> {
  return directKysely(dialect, run)
}

/**
 * Lets Kysely run schema changes in transactions. SQLite supports this, but Kysely's own adapter for SQLite does not.
 */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): true {
    return true
  }
}

const dialect = {
  adapter: new TransactionalSqliteAdapter(),
  compiler: new SqliteQueryCompiler(),
  createIntrospector: (db: Kysely<Tables>) => new SqliteIntrospector(db),
}

/** Messages for the SQLite result codes that mean that the database failed, and not the statement. */
const failureMessages: Readonly<Record<number, string>> = {
  5: 'The database is locked.',
  6: 'The database is locked.',
  7: 'The database is out of memory.',
  8: 'The database is read-only.',
  10: 'The database cannot be read or written.',
  11: 'The database is damaged.',
  13: 'The disk with the database is full.',
  14: 'The database cannot be opened.',
  15: 'The database is locked.',
  26: 'The file is not a database.',
}

const statementLimit = 500

/** Returns the error as `StoreBusyError` if the database failed; undefined for any other error. */
export function asBusy(error: unknown): StoreBusyError | undefined {
  if (error instanceof StoreBusyError) return error
  const message = failureMessages[resultCode(error)]
  return message === undefined ? undefined : new StoreBusyError(message, { cause: error })
}

/** Returns the primary result code of an SQLite error (the low eight bits of `errcode`); 0 for any other error. */
function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0
}

/** Returns whether a lock of another connection caused the error: SQLITE_BUSY, SQLITE_LOCKED or SQLITE_PROTOCOL. */
export function isLocked(error: unknown): boolean {
  return [5, 6, 15].includes(resultCode(error))
}
