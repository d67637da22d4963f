import { sha256 } from '../../../core/system.ts'
import { resourcesTrigger } from './activity.ts'
import { type Column, columnsOf, keyOf, type Table } from './table.ts'
import { tables } from './tables.ts'

export type Dialect = 'sqlite' | 'postgres'

const declared: readonly (readonly [name: string, table: Table])[] = Object.entries(tables)

/** The version of the schema. It stays 1 until the first release; later releases will migrate from version 1. */
export const schemaVersion = 1

/**
 * A digest of the declared tables. Each pre-release may declare different tables, so the service refuses a database
 * that was created with a different digest. There are no migrations until the first release: to change the schema, edit
 * the declarations.
 */
export const schemaDigest = sha256(JSON.stringify([declared, resourcesTrigger])).slice(0, 32)

/** Returns the SQL that creates all tables, indexes and triggers in an empty database. */
export function creationSql(dialect: Dialect): string {
  const triggers = dialect === 'sqlite' ? [resourcesTrigger] : []
  return declared
    .flatMap(([name, table]) => [tableStatement(dialect, name, table), ...indexStatements(dialect, name, table)])
    .concat(triggers)
    .join(';\n')
}

function tableStatement(dialect: Dialect, name: string, table: Table): string {
  const columns = columnsOf(table).map(([column, { type, isNullable }]) => {
    return `"${column}" ${sqlType(dialect, type)}${isNullable ? '' : ' not null'}`
  })
  const key = `constraint "${name}_key" primary key (${quoted(keyOf(dialect, table))})`
  const checks = Object.entries(table.$checks ?? {}).map(([check, condition]) => {
    return `constraint "${name}_${check}" check (${condition})`
  })
  const end = dialect === 'sqlite' && table.$keyOnly === true ? ' without rowid' : ''
  return `create table "${name}" (${[...columns, key, ...checks].join(', ')})${end}`
}

function sqlType(dialect: Dialect, type: Column<unknown>['type']): string {
  if (type !== 'bytes') return type
  return dialect === 'postgres' ? 'bytea' : 'blob'
}

function indexStatements(dialect: Dialect, name: string, table: Table): string[] {
  const { $indexes = [], $uniqueIndexes = [], $namedIndexes = {} } = table
  const key = keyOf(dialect, table).join(' ')
  const index = (kind: string, suffix: string, definition: string) =>
    `create ${kind} "${name}_by_${suffix}" on "${name}" ${definition}`
  const byColumns = (kind: string) => (columns: string) =>
    index(kind, columns.replaceAll(' ', '_'), `(${quoted(columns.split(' '))})`)
  return [
    // The primary key already has an index, so an index on the same columns is left out.
    ...$indexes.filter((columns) => columns !== key).map(byColumns('index')),
    ...$uniqueIndexes.map(byColumns('unique index')),
    ...Object.entries($namedIndexes).map(([suffix, definition]) => index('index', suffix, definition)),
  ]
}

const quoted = (columns: readonly string[]) => columns.map((column) => `"${column}"`).join(', ')
