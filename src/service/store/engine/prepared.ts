import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { type JoinedShape, joinedShape } from './joined-rows.ts'
import type { Store, Transaction } from './store.ts'

/** A query with the name under which a server keeps it prepared, and the shape of its rows if it joins several tables. */
export interface NamedQuery<Row = unknown> extends CompiledQuery<Row> {
  readonly name: string
  readonly shape: JoinedShape | undefined
}

type Build<P extends object, Row> = (db: Kysely<Tables>, parameters: P) => Compilable<Row>

/**
 * Makes a query that is built and compiled once for each dialect and later only filled in. Building a query costs
 * several times as much as running it. `build` sees opaque placeholders, so it must not look at parameter values. The
 * parameters are an object of values or an array of such objects.
 */
export function prepared<P extends object, Row>(
  build: Build<P, Row>,
): (tx: Transaction, parameters: P) => Promise<QueryResult<Row>> {
  const fill = fillerOf(build)
  return (tx, parameters) => tx.query(fill(tx, parameters))
}

/** Makes a statement that is built once and whose result is not needed (see `Transaction.write`). */
export function writing<P extends object>(build: Build<P, unknown>): (tx: Transaction, parameters: P) => Promise<void> {
  const fill = fillerOf(build)
  return (tx, parameters) => tx.write(fill(tx, parameters))
}

/**
 * Makes a statement that must change exactly one row.
 * @throws StaleWriteError if it did not. The error may come only at the end of the transaction.
 */
export function changingOne<P extends object>(
  build: Build<P, unknown>,
  rowLabelOf: (parameters: P) => string,
): (tx: Transaction, parameters: P) => Promise<void> {
  const fill = fillerOf(build, failingUnlessOne)
  return (tx, parameters) => tx.write(fill(tx, parameters), rowLabelOf(parameters))
}

/**
 * Rewrites a statement so that it fails with a division by zero if it changes no row. On a server, writes are sent
 * without waiting for their answers, so the statement itself must fail. A statement that begins with `with` must
 * already contain this division.
 */
function failingUnlessOne(sql: string, dialect: Store['dialect']): string {
  return dialect === 'sqlite' || sql.startsWith('with ')
    ? sql
    : `with changed as (${sql} returning 1) select 1 / count(*) from changed`
}

let named = 0

function fillerOf<P extends object, Row>(
  build: Build<P, Row>,
  finish = (sql: string, _dialect: Store['dialect']) => sql,
): (tx: Transaction, parameters: P) => NamedQuery<Row> {
  const compiled: Partial<Record<Store['dialect'], NamedQuery<Row>>> = {}
  const name = `p${++named}`
  return (tx, parameters) => {
    let query = compiled[tx.dialect]
    if (query === undefined) {
      const marks = Array.isArray(parameters) ? parameters.map(marksOf) : marksOf(parameters)
      const built = build(tx.db, marks as P).compile()
      query = { ...built, sql: finish(built.sql, tx.dialect), name, shape: joinedShape(built) }
      compiled[tx.dialect] = query
    }
    const filled = query.parameters.map((value) => (value instanceof Mark ? value.valueIn(parameters) : value))
    return { ...query, parameters: filled }
  }
}

type Values = Readonly<Record<string, unknown>>

/**
 * A placeholder for a parameter's value while the query is built. If the parameters are several rows, `row` is the
 * position of the parameter's row.
 */
class Mark {
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

function marksOf(parameters: object, row?: number): object {
  return Object.fromEntries(Object.keys(parameters).map((name) => [name, new Mark(name, row)]))
}
