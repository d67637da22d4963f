import { migrations } from '../schema/migrations.ts'
import type { Store } from './store.ts'
import { WrongDatabaseError } from './wrong-database.ts'

/** Who made a database, as its tables tell. `newer`: a version of payments-mcp with migrations that this one lacks. */
export type Origin = 'empty' | 'ours' | 'newer' | 'foreign'

/** The tables that the migrator makes before the first migration. A start that was killed there leaves them empty. */
const migratorTables: readonly string[] = ['kysely_migration', 'kysely_migration_lock']
const [firstMigration = ''] = Object.keys(migrations)

/** The names of the tables in a database. On PostgreSQL extensions may have put some of their own beside ours. */
export const namesOfTables: Readonly<Record<Store['dialect'], string>> = {
  sqlite: `select name from sqlite_master where type in ('table', 'view')`,
  postgres: `select c.relname as name from pg_class c
    where c.relnamespace = to_regnamespace(quote_ident(current_schema())) and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (select 1 from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`,
}

export const namesOfMigrations = 'select name from kysely_migration order by name'

export function originOf(tables: readonly string[], applied: readonly string[]): Origin {
  if (applied.length === 0) return tables.every((name) => migratorTables.includes(name)) ? 'empty' : 'foreign'
  if (applied[0] !== firstMigration || !tables.includes('clock') || !tables.includes('parties')) return 'foreign'
  return applied.every((name) => Object.hasOwn(migrations, name)) ? 'ours' : 'newer'
}

/** Why a database must stay as it is, and how to go on. */
export const refusals: Readonly<Record<'foreign' | 'newer', { reason: string; advice: string }>> = {
  foreign: {
    reason: 'it has tables of another program, and stays as it is',
    advice: 'Name an empty database, or one that payments-mcp made: PAYMENTS_DATABASE_URL (--database-url).',
  },
  newer: { reason: 'it was made by a newer payments-mcp', advice: 'Update payments-mcp.' },
}

/** @throws WrongDatabaseError for a database that this version must not touch. */
export function requireUsable(tables: readonly string[], applied: readonly string[]): void {
  const origin = originOf(tables, applied)
  if (origin === 'empty' || origin === 'ours') return
  const { reason, advice } = refusals[origin]
  throw new WrongDatabaseError(`${reason}. ${advice}`)
}
