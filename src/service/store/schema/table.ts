import { type Kysely, PostgresAdapter } from 'kysely'

/** The declaration of a column. `Value` is the TypeScript type of the column's values. */
export interface Column<Value> {
  readonly type: 'text' | 'integer' | 'bigint' | 'bytes'
  readonly isNullable: boolean
  /** Never set. This property only makes the type `Column<Value>` depend on `Value`. */
  readonly value?: Value
}

export const text: Column<string> = { type: 'text', isNullable: false }
export const integer: Column<number> = { type: 'integer', isNullable: false }
/** A column for amounts or times, which may need more than 32 bits. */
export const bigint: Column<number> = { type: 'bigint', isNullable: false }
export const bytes: Column<Uint8Array> = { type: 'bytes', isNullable: false }
export const flag = integer as Column<0 | 1>

export function nullable<Value>(column: Column<Value>): Column<Value | null> {
  return { ...column, isNullable: true }
}

/**
 * The constraints and indexes of a table. Each string in `$indexes` and `$uniqueIndexes` lists the columns of one
 * index, separated by spaces.
 */
interface Constraints {
  /** The columns of the primary key; `id` by default. */
  readonly $key?: readonly string[]
  /**
   * A column, usually `partyId`, that comes before `$key` in the primary key on PostgreSQL. It keeps the entries of a
   * party together in the index. On SQLite, the primary key is `$key` alone.
   */
  readonly $tenant?: string
  /** Check constraints by name. The error message of a violation contains the name. */
  readonly $checks?: Readonly<Record<string, string>>
  readonly $indexes?: readonly string[]
  readonly $uniqueIndexes?: readonly string[]
  /**
   * Indexes by name. Each value is the SQL that follows `on <table>`, such as a list of columns and a `where` clause.
   */
  readonly $namedIndexes?: Readonly<Record<string, string>>
  /**
   * Makes SQLite store the rows inside the primary key's index (`without rowid`). Use this for tables with short rows.
   */
  readonly $keyOnly?: true
}

/** The declaration of a table: its columns, in order, and its constraints. */
export type Table = Constraints & { readonly [column: string]: Column<unknown> | Constraints[keyof Constraints] }

export function table<const Declared extends Table>(declared: Declared): Declared {
  return declared
}

/** The type of a table's rows. */
export type RowOf<Declared extends Table> = {
  -readonly [Name in keyof Declared as Name extends `$${string}` ? never : Name]: Declared[Name] extends Column<
    infer Value
  >
    ? Value
    : never
}

export function columnsOf(declared: Table): [name: string, column: Column<unknown>][] {
  return Object.entries(declared).filter(([name]) => !name.startsWith('$')) as [string, Column<unknown>][]
}

/** Returns the columns of a table's primary key. */
export function keyOf(dialect: 'sqlite' | 'postgres', { $tenant, $key = ['id'] }: Table): readonly string[] {
  return dialect === 'postgres' && $tenant !== undefined ? [$tenant, ...$key] : $key
}

/** Returns whether the database is PostgreSQL. */
export function runsOnPostgres(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}
