import { sql } from 'kysely'
import { keyOf } from '../schema/table.ts'
import { type Tables, tables } from '../schema/tables.ts'
import type { Transaction } from './store.ts'

/** A row of any table, with its values as stored. */
export type AnyRow = Record<string, unknown>

/**
 * Reads up to `limit` rows of a table, in the order of the table's primary key.
 * @param after The last row of the previous read; undefined to begin with the first row.
 */
export async function rowsAfter(
  { db, dialect }: Transaction,
  table: keyof Tables,
  after: AnyRow | undefined,
  limit: number,
): Promise<AnyRow[]> {
  const key = keyOf(dialect, tables[table])
  const columns = sql.join(key.map((name) => sql.ref(name)))
  const where = after === undefined ? sql`1 = 1` : sql`(${columns}) > (${sql.join(key.map((name) => after[name]))})`
  const query = sql<AnyRow>`select * from ${sql.table(table)} where ${where} order by ${columns} limit ${limit}`
  return (await query.execute(db)).rows
}
