import {
  type ColumnDataType,
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  type Kysely,
  PostgresAdapter,
  SqliteAdapter,
  sql,
} from 'kysely'
import { changeChecks } from './checks.ts'

/** A column as the database has it. `Value` is the type of what stands in it. */
export interface Column<Value> {
  readonly type: 'text' | 'integer' | 'bigint' | 'bytes'
  readonly isNullable: boolean
  /** What the rows get that are older than the column. */
  readonly fill?: string
  /** Is never there: the type is all that is asked of it. */
  readonly value?: Value
}

export const text: Column<string> = { type: 'text', isNullable: false }
export const integer: Column<number> = { type: 'integer', isNullable: false }
/** For amounts and instants, which outgrow 32 bits. */
export const bigint: Column<number> = { type: 'bigint', isNullable: false }
export const bytes: Column<Uint8Array> = { type: 'bytes', isNullable: false }
export const flag = integer as Column<0 | 1>

export function nullable<Value>(column: Column<Value>): Column<Value | null> {
  return { ...column, isNullable: true }
}

/** A column that is added to a table that has rows. */
export function filled<Value>(column: Column<Value>, fill: string): Column<Value> {
  return { ...column, fill }
}

/** What a migration does to a table besides adding columns. An index is written as its columns and named after them. */
interface Constraints {
  /** The primary key: `id` unless it is given. */
  readonly $key?: readonly string[]
  /**
   * The primary key from then on where PostgreSQL is spoken: the tenant first, so that what is one tenant's lies together
   * on one machine of several. SQLite, which has one machine and cannot change a key without writing every row anew,
   * keeps the key that the table was made with.
   */
  readonly $tenantKey?: readonly string[]
  /** For what is looked up without its tenant, which SQLite's key serves already. */
  readonly $postgresIndexes?: readonly string[]
  /** By name, which the error of a violation tells. */
  readonly $checks?: Readonly<Record<string, string>>
  /** Checks that go, by their names, and what each was. */
  readonly $droppedChecks?: Readonly<Record<string, string>>
  readonly $indexes?: readonly string[]
  readonly $uniqueIndexes?: readonly string[]
  /** Indexes that columns alone do not describe, by name. */
  readonly $namedIndexes?: Readonly<Record<string, string>>
  readonly $dropped?: readonly string[]
  /** Indexes that go, by what `$indexes` or `$namedIndexes` call them. */
  readonly $droppedIndexes?: readonly string[]
  /** The table is its primary key and little more: SQLite keeps it once, in the order of the key. */
  readonly $keyOnly?: true
}

/** The columns that a migration adds to a table, and the rest of what it does. */
type Change = Constraints & { readonly [column: string]: Column<unknown> | Constraints[keyof Constraints] }

/** What each migration made of a table, the first one created it. A published change is never edited: add another. */
export type Table = Readonly<Record<string, Change>>

export function table<const Changes extends Table>(changes: Changes): Changes {
  return changes
}

/** A row of a table as all its migrations left it. */
export type RowOf<Changes extends Table> = {
  -readonly [Name in keyof Merged<Changes> as Name extends `$${string}` | Dropped<Changes[keyof Changes]>
    ? never
    : Name]: Merged<Changes>[Name] extends Column<infer Value> ? Value : never
}

type Merged<Changes extends Table> = Intersection<Changes[keyof Changes]>
type Dropped<OneChange> = OneChange extends { readonly $dropped: readonly (infer Name)[] } ? Name : never
type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** The columns that a change adds, in their order. */
export function columnsOf(change: Change): [name: string, column: Column<unknown>][] {
  return Object.entries(change).filter(([name]) => !name.startsWith('$')) as [string, Column<unknown>][]
}

/** The columns of a table as all its migrations left it. */
export function columnsNow(changes: Table): [name: string, column: Column<unknown>][] {
  const all = new Map(Object.values(changes).flatMap(columnsOf))
  for (const { $dropped = [] } of Object.values(changes)) for (const name of $dropped) all.delete(name)
  return [...all]
}

/** Whether that is PostgreSQL's dialect of SQL. */
export function speaksPostgres(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

/** Carries out what a migration does to a table; one statement a column, since SQLite takes no more. */
export async function changeTable(db: Kysely<unknown>, name: string, change: Change, isNew: boolean): Promise<void> {
  const { schema } = db
  if (isNew) await createTable(db, name, change)
  else {
    for (const [column, definition] of columnsOf(change)) {
      await schema.alterTable(name).addColumn(column, typeIn(db, definition), constrained(definition)).execute()
    }
  }
  if (!isNew) await changeChecks(db, name, change)
  const indexName = (columns: string) => `${name}_by_${columns.replaceAll(' ', '_')}`
  // SQLite drops no column that an index has, and PostgreSQL drops the index with it.
  for (const columns of change.$droppedIndexes ?? []) await schema.dropIndex(indexName(columns)).execute()
  for (const column of change.$dropped ?? []) await schema.alterTable(name).dropColumn(column).execute()
  const index = (columns: string) => schema.createIndex(indexName(columns)).on(name).columns(columns.split(' '))
  for (const columns of change.$indexes ?? []) await index(columns).execute()
  if (speaksPostgres(db)) for (const columns of change.$postgresIndexes ?? []) await index(columns).execute()
  for (const columns of change.$uniqueIndexes ?? []) await index(columns).unique().execute()
  for (const [suffix, of] of Object.entries(change.$namedIndexes ?? {})) {
    await sql.raw(`create index "${name}_by_${suffix}" on "${name}" ${of}`).execute(db)
  }
}

/**
 * Gives a table the key that begins with its tenant, and takes the index whose work it does. Building the key's index is
 * what takes long: an operator with many rows builds it beforehand, concurrently (docs/scaling.md#upgrading).
 */
export async function changeKey(db: Kysely<unknown>, name: string, { $tenantKey }: Change): Promise<void> {
  if ($tenantKey === undefined || !speaksPostgres(db)) return
  const [table, key, built] = [sql.table(name), sql.id(`${name}_key`), sql.id(`${name}_tenant_key`)]
  const columns = sql.join($tenantKey.map((column) => sql.ref(column)))
  await sql`create unique index if not exists ${built} on ${table} (${columns})`.execute(db)
  await sql`alter table ${table} drop constraint ${key}, add constraint ${key} primary key using index ${built}`.execute(
    db,
  )
  await db.schema
    .dropIndex(`${name}_by_${$tenantKey.join('_')}`)
    .ifExists()
    .execute()
}

async function createTable(db: Kysely<unknown>, name: string, change: Change): Promise<void> {
  let created: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const [column, definition] of columnsOf(change)) {
    created = created.addColumn(column, typeIn(db, definition), constrained(definition))
  }
  created = created.addPrimaryKeyConstraint(`${name}_key`, [...(change.$key ?? ['id'])])
  for (const [check, condition] of Object.entries(change.$checks ?? {})) {
    created = created.addCheckConstraint(`${name}_${check}`, sql.raw(condition))
  }
  if (change.$keyOnly === true && db.getExecutor().adapter instanceof SqliteAdapter) {
    created = created.modifyEnd(sql`without rowid`)
  }
  await created.execute()
}

/** Only bytes are named differently. */
function typeIn(db: Kysely<unknown>, { type }: Column<unknown>): ColumnDataType {
  if (type !== 'bytes') return type
  return speaksPostgres(db) ? 'bytea' : 'blob'
}

function constrained({ isNullable, fill }: Column<unknown>) {
  return (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => {
    if (isNullable) return column
    return fill === undefined ? column.notNull() : column.notNull().defaultTo(fill)
  }
}
