import { columnsOf } from '../schema/table.ts'
import { type Tables, tables } from '../schema/tables.ts'

const namesOf = new Map<keyof Tables, readonly (readonly [column: string, joined: string])[]>()

function joinedNames(table: keyof Tables): readonly (readonly [column: string, joined: string])[] {
  let names = namesOf.get(table)
  if (names === undefined) {
    names = columnsOf(tables[table]).map(([column]) => [column, `${table} ${column}`] as const)
    namesOf.set(table, names)
  }
  return names
}

/**
 * Returns the columns of a table for a query that joins several tables. The names of the columns contain the table's
 * name.
 */
export function joinedRows(table: keyof Tables): never[] {
  return joinedNames(table).map(([column, name]) => `${table}.${column} as ${name}` as never)
}

/** Extracts the row of a table from a joined row; undefined if an outer join found none. */
export function rowIn<Table extends keyof Tables>(table: Table, from: object): Tables[Table] | undefined {
  const names = joinedNames(table)
  const values = from as Record<string, unknown>
  const [, first = ''] = names[0] ?? []
  if (values[first] === null) return undefined
  const row: Record<string, unknown> = {}
  for (const [column, name] of names) row[column] = values[name]
  return row as Tables[Table]
}
