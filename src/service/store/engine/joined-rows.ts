import { AliasNode, type CompiledQuery, IdentifierNode, ReferenceNode, SelectQueryNode } from 'kysely'
import { columnsOf } from '../schema/table.ts'
import { type Tables, tables } from '../schema/tables.ts'

/**
 * Returns all columns of one table, for the `select` of a prepared query that joins several tables. Each column gets
 * the alias `TABLE COLUMN`.
 */
export function joinedRows(table: keyof Tables): never[] {
  return columnsOf(tables[table]).map(([column]) => `${table}.${column} as ${table} ${column}` as never)
}

/** Returns the row of one table from a joined row; undefined if an outer join found no row of this table. */
export function rowIn<Table extends keyof Tables>(table: Table, from: object): Tables[Table] | undefined {
  return (from as Partial<Tables>)[table] as Tables[Table] | undefined
}

/** A column's name, and its index in the array of a row's values. */
type IndexedColumn = readonly [name: string, index: number]

/**
 * Builds joined rows from arrays of values. A joined row has one object for each table, and the query's other columns
 * as direct properties. If rows were read as objects and then split, each write on SQLite would take 4 % more CPU time.
 */
export class JoinedShape {
  readonly #plain: readonly IndexedColumn[]
  readonly #tables: readonly (readonly [table: string, columns: readonly IndexedColumn[], firstIndex: number])[]

  constructor(names: readonly string[]) {
    const columns = names.map((name, index) => ({ parts: name.split(' '), index }))
    this.#plain = columns.flatMap(({ parts: [name = '', column], index }) =>
      column === undefined ? [[name, index]] : [],
    )
    const joined = new Map<string, IndexedColumn[]>()
    for (const { parts, index } of columns) {
      const [table = '', column] = parts
      if (column !== undefined) joined.set(table, [...(joined.get(table) ?? []), [column, index]])
    }
    this.#tables = [...joined].map(([table, columns]) => [table, columns, columns[0]?.[1] ?? 0])
  }

  rowOf(values: readonly unknown[]): object {
    const row = pick(this.#plain, values)
    // The first column of a table is null only if an outer join found no row of the table.
    for (const [table, columns, firstIndex] of this.#tables)
      if (values[firstIndex] !== null) row[table] = pick(columns, values)
    return row
  }
}

function pick(columns: readonly IndexedColumn[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const [name, index] of columns) row[name] = values[index]
  return row
}

/** Returns the shape of the rows that a query returns; undefined if the query selects no columns from `joinedRows`. */
export function joinedShape({ query }: CompiledQuery): JoinedShape | undefined {
  if (!SelectQueryNode.is(query)) return undefined
  const selections = query.selections ?? []
  const names = selections.map(({ selection }) => {
    if (AliasNode.is(selection) && IdentifierNode.is(selection.alias)) return selection.alias.name
    return ReferenceNode.is(selection) && 'column' in selection.column ? selection.column.column.name : ''
  })
  return names.some((name) => name.includes(' ')) ? new JoinedShape(names) : undefined
}
