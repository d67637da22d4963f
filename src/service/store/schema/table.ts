import { type Kysely, PostgresAdapter } from 'kysely'

/** A column as the database defines it. `Value` is the type of its values. */
export interface Column<Value> {
  readonly type: 'text' | 'integer' | 'bigint' | 'bytes'
  readonly isNullable: boolean
  /** Exists only for the type and is never set. */
  readonly value?: Value
}

export const text: Column<string> = { type: 'text', isNullable: false }
export const integer: Column<number> = { type: 'integer', isNullable: false }
/** For amounts and times, which may need more than 32 bits. */
export const bigint: Column<number> = { type: 'bigint', isNullable: false }
export const bytes: Column<Uint8Array> = { type: 'bytes', isNullable: false }
export const flag = integer as Column<0 | 1>

export function nullable<Value>(column: Column<Value>): Column<Value | null> {
  return { ...column, isNullable: true }
}

/** The constraints and indexes of a table. An index is written as its columns and named after them. */
interface Constraints {
  /** The columns of the primary key; `id` by default. */
  readonly $key?: readonly string[]
  /**
   * The column that comes before `$key` in PostgreSQL's primary key, so that a party's rows are stored together. SQLite
   * finds rows by `$key` alone.
   */
  readonly $tenant?: string
  /** Check constraints by name. The error of a violation contains the name. */
  readonly $checks?: Readonly<Record<string, string>>
  readonly $indexes?: readonly string[]
  readonly $uniqueIndexes?: readonly string[]
  /** Indexes that need more than a list of columns, by name. */
  readonly $namedIndexes?: Readonly<Record<string, string>>
  /**
   * Set if the table has little more than its primary key. SQLite then stores each row once, in the order of the key.
   */
  readonly $keyOnly?: true
}

/** The columns of a table, in order, and its constraints. */
export type Table = Constraints & { readonly [column: string]: Column<unknown> | Constraints[keyof Constraints] }

export function table<const Declared extends Table>(declared: Declared): Declared {
  return declared
}

/** A row of a table. */
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

/** Returns the columns of the primary key. */
export function keyOf(dialect: 'sqlite' | 'postgres', { $tenant, $key = ['id'] }: Table): readonly string[] {
  return dialect === 'postgres' && $tenant !== undefined ? [$tenant, ...$key] : $key
}

/** Returns whether the database is PostgreSQL. */
export function runsOnPostgres(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}
