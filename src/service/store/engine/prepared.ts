import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import type { Transaction } from './store.ts'

/**
 * A query that is built and compiled once for each dialect, and afterwards only filled in: building one anew costs
 * several times what running it does. `build` sees the parameters as opaque marks, so it must not look at their values.
 */
export function prepared<P extends object, Row>(
  build: (db: Kysely<Tables>, parameters: P) => Compilable<Row>,
): (tx: Transaction, parameters: P) => Promise<QueryResult<Row>> {
  const compiled = new WeakMap<object, CompiledQuery<Row>>()
  return (tx, parameters) => {
    const dialect = tx.db.getExecutor().adapter
    let query = compiled.get(dialect)
    if (query === undefined) {
      const marks = Object.keys(parameters).map((name) => [name, new Mark(name)])
      query = build(tx.db, Object.fromEntries(marks) as P).compile()
      compiled.set(dialect, query)
    }
    const values = parameters as Record<string, unknown>
    const filled = query.parameters.map((value) => (value instanceof Mark ? values[value.name] : value))
    return tx.db.executeQuery<Row>({ ...query, parameters: filled })
  }
}

/** Stands for a parameter's value while the query is built. */
class Mark {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}
