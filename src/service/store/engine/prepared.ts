import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { type JoinedShape, joinedShape } from './joined-rows.ts'
import type { Store, Transaction } from './store.ts'

/** A compiled query. It has the name of its prepared statement, and the shape of its rows if it joins tables. */
export interface NamedQuery<Row = unknown> extends CompiledQuery<Row> {
  readonly name: string
  readonly shape: JoinedShape | undefined
}

type Build<P extends object, Row> = (db: Kysely<Tables>, parameters: P) => Compilable<Row>

/**
 * Makes a function that runs a query. The query is built and compiled once for each dialect, because building it costs
 * several times as much as running it. Later calls only fill in the parameters: an object of values, or an array of a
 * fixed number of such objects. `build` gets opaque placeholders, so it must not look at parameter values.
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
 * Makes a function that writes with a statement that must change exactly one row. If it changes none, the transaction
 * fails with a StaleWriteError, possibly only at its end.
 */
export function changingOne<P extends object>(
  build: Build<P, unknown>,
  rowLabelOf: (parameters: P) => string,
): (tx: Transaction, parameters: P) => Promise<void> {
  const fill = fillerFor(build, failingUnlessOne)
  return (tx, parameters) => tx.write(fill(tx, parameters), rowLabelOf(parameters))
}

/**
 * Rewrites a statement so that it fails with a division by zero if it changes no row. On a database server, writes are
 * sent without waiting for their answers, so the statement itself must fail. A statement that begins with `with` must
 * already contain this division. On SQLite, the number of changed rows is checked instead.
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
 * The stand-in for a parameter's value while the query is built. If the parameters are an array, `row` is the index of
 * the object with this parameter.
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
