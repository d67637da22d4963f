import { sql } from 'kysely'
import { type Tables, tables } from '../schema/tables.ts'
import type { Transaction } from './store.ts'

/** A row of any table, as the database has it. */
export type AnyRow = Record<string, unknown>

/**
 * Reads some rows of a table in the order of its primary key, after the row that was read last.
 * @param after Undefined: from the first row on.
 */
export async function rowsAfter(
  { db, dialect }: Transaction,
  table: keyof Tables,
  after: AnyRow | undefined,
  limit: number,
): Promise<AnyRow[]> {
  const key = keyOf(table, dialect)
  const columns = sql.join(key.map((name) => sql.ref(name)))
  const where = after === undefined ? sql`1 = 1` : sql`(${columns}) > (${sql.join(key.map((name) => after[name]))})`
  const query = sql<AnyRow>`select * from ${sql.table(table)} where ${where} order by ${columns} limit ${limit}`
  return (await query.execute(db)).rows
}

function keyOf(table: keyof Tables, dialect: Transaction['dialect']): readonly string[] {
  const changes: { $key?: readonly string[]; $tenantKey?: readonly string[] }[] = Object.values(tables[table])
  const ofTenant = changes.findLast(({ $tenantKey }) => $tenantKey !== undefined)?.$tenantKey
  const own = changes.findLast(({ $key }) => $key !== undefined)?.$key ?? ['id']
  return dialect === 'postgres' ? (ofTenant ?? own) : own
}
