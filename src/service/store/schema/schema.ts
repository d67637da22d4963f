import { type CreateTableBuilder, type Kysely, sql } from 'kysely'

/** A table as a migration made it; columns are not null unless they end in `?`. */
export interface TableDefinition {
  text: string
  integer?: string
  /** Amounts and instants, which outgrow 32 bits. */
  bigint?: string
  key: string[]
  /** By name, which the error of a violation tells. */
  checks?: Record<string, string>
  indexes?: string[][]
  uniqueIndexes?: string[][]
}

export async function createTable(db: Kysely<unknown>, name: string, definition: TableDefinition): Promise<void> {
  let table: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const type of ['text', 'integer', 'bigint'] as const) {
    for (const column of definition[type]?.match(/\S+/g) ?? []) {
      const nullable = column.endsWith('?')
      table = table.addColumn(nullable ? column.slice(0, -1) : column, type, (of) => (nullable ? of : of.notNull()))
    }
  }
  table = table.addPrimaryKeyConstraint(`${name}_key`, definition.key)
  for (const [check, condition] of Object.entries(definition.checks ?? {})) {
    table = table.addCheckConstraint(`${name}_${check}`, sql.raw(condition))
  }
  await table.execute()
  const index = (columns: string[]) =>
    db.schema
      .createIndex([name, 'by', ...columns].join('_'))
      .on(name)
      .columns(columns)
  for (const columns of definition.indexes ?? []) await index(columns).execute()
  for (const columns of definition.uniqueIndexes ?? []) await index(columns).unique().execute()
}

/**
 * Adds columns to a table, one statement each: SQLite takes no more. Named as in a definition; `name=value` is a column
 * that is not null, with what the rows there are get.
 */
export async function addColumns(
  db: Kysely<unknown>,
  table: string,
  columns: Partial<Record<'text' | 'integer' | 'bigint', string>>,
): Promise<void> {
  for (const type of ['text', 'integer', 'bigint'] as const) {
    for (const column of columns[type]?.match(/\S+/g) ?? []) {
      const [name = '', value] = column.split('=')
      const alteration = db.schema.alterTable(table)
      await alteration
        .addColumn(name.replace(/\?$/, ''), type, (of) => (value === undefined ? of : of.notNull().defaultTo(value)))
        .execute()
    }
  }
}
