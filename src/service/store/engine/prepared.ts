import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { type JoinedShape, joinedShape } from './joined-rows.ts'
import type { Store, Transaction } from './store.ts'

/**
 * A compiled query, with the name of its prepared statement, and with the shape of its rows if the query joins tables.
 */
export interface NamedQuery<Row = unknown> extends CompiledQuery<Row> {
  readonly name: string
  readonly shape: JoinedShape | undefined
}

type Build<P extends object, Row> = (db: Kysely<Tables>, parameters: P) => Compilable<Row>

/**
 * Makes a function that runs a query. The query is built and compiled once for each dialect, because building it costs
 * several times as much as running it. Later calls only fill in the parameters. The parameters are an object of values,
 * or an array of such objects that always has the same length. `build` gets opaque placeholders instead of values, so
 * the query must not depend on the values.
 */
export function prepared<P extends object, Row>(
  build: Build<P, Row>,
): (tx: Transaction, parameters: P) => Promise<QueryResult<Row>> {
  const fill = fillerFor(build)
  return (tx, parameters) => tx.query(fill(tx, parameters))
}

/** Makes a function that writes with a statement built once for each dialect (see `Transaction.write`). */
export function preparedWrite<P extends object>(
  build: Build<P, unknown>,
): (tx: Transaction, parameters: P) => Promise<void> {
  const fill = fillerFor(build)
  return (tx, parameters) => tx.write(fill(tx, parameters))
}

/**
 * Makes a function that writes with a statement that must change exactly one row. If the statement changes none, the
 * transaction fails with a StaleWriteError, at the latest when it ends.
 */
export function changingOne<P extends object>(
  build: Build<P, unknown>,
  rowLabelOf: (parameters: P) => string,
): (tx: Transaction, parameters: P) => Promise<void> {
  const fill = fillerFor(build, failingUnlessOne)
  return (tx, parameters) => tx.write(fill(tx, parameters), rowLabelOf(parameters))
}

/**
 * Makes a PostgreSQL statement fail with a division by zero if it changes no row. The statement itself must fail,
 * because writes are sent to a server without waiting for their answers. A statement that begins with `with` must
 * already contain this division, so it is returned unchanged. SQLite statements are returned unchanged too, because the
 * number of rows that they change is checked instead.
 */
function failingUnlessOne(sql: string, dialect: Store['dialect']): string {
  return dialect === 'sqlite' || sql.startsWith('with ')
    ? sql
    : `with changed as (${sql} returning 1) select 1 / count(*) from changed`
}

let named = 0

function fillerFor<P extends object, Row>(
  build: Build<P, Row>,
  finish = (sql: string, _dialect: Store['dialect']) => sql,
): (tx: Transaction, parameters: P) => NamedQuery<Row> {
  const compiled: Partial<Record<Store['dialect'], NamedQuery<Row>>> = {}
  const name = `p${++named}`
  return (tx, parameters) => {
    let query = compiled[tx.dialect]
    if (query === undefined) {
      const placeholders = Array.isArray(parameters) ? parameters.map(placeholdersFor) : placeholdersFor(parameters)
      const built = build(tx.db, placeholders as P).compile()
      query = { ...built, sql: finish(built.sql, tx.dialect), name, shape: joinedShape(built) }
      compiled[tx.dialect] = query
    }
    const filled = query.parameters.map((value) => (value instanceof Placeholder ? value.valueIn(parameters) : value))
    return { ...query, parameters: filled }
  }
}

type Values = Readonly<Record<string, unknown>>

/**
 * A placeholder for the value of a parameter while the query is built. If the parameters are an array of objects, `row`
 * is the index of the object that contains the value.
 */
class Placeholder {
  readonly #name: string
  readonly #row: number | undefined

  constructor(name: string, row: number | undefined) {
    this.#name = name
    this.#row = row
  }

  valueIn(parameters: object): unknown {
    const values = this.#row === undefined ? (parameters as Values) : (parameters as readonly Values[])[this.#row]
    return values?.[this.#name]
  }
}

function placeholdersFor(parameters: object, row?: number): object {
  return Object.fromEntries(Object.keys(parameters).map((name) => [name, new Placeholder(name, row)]))
}
