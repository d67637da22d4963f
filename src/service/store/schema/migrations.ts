import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { rowChanges } from './row-changes.ts'
import { changeKey, changeTable, type Table } from './table.ts'
import { type Tables, tables } from './tables.ts'

const changes: [name: string, table: Table][] = Object.entries(tables)
const names = [...changes.flatMap(([, table]) => Object.keys(table)), ...Object.keys(rowChanges)]

/** By their names, in the order of which they are applied: each changes its tables, then the rows there are, then keys. */
export const migrations: Readonly<Record<string, Migration>> = Object.fromEntries(
  [...new Set(names)].sort().map((name) => [name, { up: (db) => apply(db, name) }]),
)

async function apply(db: Kysely<unknown>, migration: string): Promise<void> {
  for (const [name, table] of changes) {
    const change = table[migration]
    const isNew = Object.keys(table)[0] === migration
    if (change !== undefined) await changeTable(db, name, change, isNew)
  }
  await rowChanges[migration]?.(db)
  for (const [name, table] of changes) await changeKey(db, name, table[migration] ?? {})
}

/**
 * Brings the schema up to date, both dialects alike. A database that is up to date costs one query. On SQLite `db` is
 * to be a transaction that has the write lock; on PostgreSQL the migrator takes a lock of its own.
 */
export async function migrate(db: Kysely<Tables>): Promise<void> {
  if (await isUpToDate(db)) return
  const { Migrator } = await import('kysely/migration')
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations } }).migrateToLatest()
  if (error !== undefined) throw error
}

export async function isUpToDate(db: Kysely<Tables>): Promise<boolean> {
  return (await lastApplied(db)) === Object.keys(migrations).at(-1)
}

async function lastApplied(db: Kysely<Tables>): Promise<string | undefined> {
  try {
    const query = sql<{ name: string }>`select name from kysely_migration order by name desc limit 1`
    return (await query.execute(db)).rows[0]?.name
  } catch (error) {
    if (error instanceof Error && isMissingTable(error)) return undefined
    throw error
  }
}

/** The answer of a new database: 42P01 is PostgreSQL's undefined_table, of SQLite's error only the message tells. */
function isMissingTable(error: Error): boolean {
  return ('code' in error && error.code === '42P01') || error.message.startsWith('no such table')
}
