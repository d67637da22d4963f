import { schemaDigest, schemaVersion } from '../schema/ddl.ts'
import type { SchemaRow } from '../schema/schemas.ts'
import type { Store } from './store.ts'
import { OtherSchemaError, WrongDatabaseError } from './wrong-database.ts'

/**
 * The origin of a database, judged by its tables. `empty`: there are none. `ours`: this version uses the same tables.
 * `newer`: a later version created them. `other`: a pre-release with different tables created them. `foreign`: another
 * program created them.
 */
export type Origin = 'empty' | 'ours' | 'other' | 'newer' | 'foreign'

/**
 * For each dialect, the query for the names of a database's tables and views. On PostgreSQL, it leaves out the tables
 * and views that belong to extensions.
 */
export const namesOfTables: Readonly<Record<Store['dialect'], string>> = {
  sqlite: `select name from sqlite_master where type in ('table', 'view')`,
  postgres: `select c.relname as name from pg_class c
    where c.relnamespace = to_regnamespace(quote_ident(current_schema())) and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (select 1 from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`,
}

/**
 * The table in which early pre-releases recorded their migrations. They did not store a schema digest. Their first
 * migration was always `firstMigration`.
 */
const migrationsTable = 'kysely_migration'
const firstMigration = '0001_first_schema'

type Rows = (query: string) => Promise<readonly object[]> | readonly object[]

/** Returns the origin of the database in which `rows` runs queries. */
export async function originOf(dialect: Store['dialect'], rows: Rows): Promise<Origin> {
  const tables = new Set((await rows(namesOfTables[dialect])).map((row) => String((row as { name: string }).name)))
  if (tables.size === 0) return 'empty'
  if (!tables.has('clock') || !tables.has('parties')) return 'foreign'
  if (tables.has('schemas')) {
    const [schemaRow] = (await rows('select "version", "digest" from "schemas"')) as Pick<
      SchemaRow,
      'version' | 'digest'
    >[]
    if (schemaRow === undefined) return 'foreign'
    if (Number(schemaRow.version) > schemaVersion) return 'newer'
    return schemaRow.digest === schemaDigest ? 'ours' : 'other'
  }
  if (!tables.has(migrationsTable)) return 'foreign'
  const [first] = (await rows(`select name from ${migrationsTable} order by name limit 1`)) as { name: string }[]
  return first?.name === firstMigration ? 'other' : 'foreign'
}

/** The reasons why databases of these origins cannot be used, and advice for the user. */
export const refusals: Readonly<Record<'foreign' | 'newer' | 'other', { reason: string; advice: string }>> = {
  foreign: {
    reason: 'it has tables of another program; the database was not changed',
    advice: 'Set PAYMENTS_DATABASE_URL (--database-url) to an empty database, or to one that payments-mcp created.',
  },
  newer: { reason: 'it was created by a newer payments-mcp', advice: 'Update payments-mcp.' },
  other: {
    reason:
      'it was created by another pre-release of payments-mcp, which had other tables; the database was not changed',
    advice:
      'Move it away to start with an empty database, or set PAYMENTS_DATABASE_URL (--database-url) to another one.',
  },
}

/** Checks that this version may use a database of the given origin. @throws WrongDatabaseError if it may not. */
export function requireUsable(origin: Origin): void {
  if (origin === 'empty' || origin === 'ours') return
  const { reason, advice } = refusals[origin]
  const message = `${reason}. ${advice}`
  throw origin === 'other' ? new OtherSchemaError(message) : new WrongDatabaseError(message)
}
