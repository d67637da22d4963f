import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { columnsOf, type Table } from '../../src/service/store/schema/table.ts'
import { type Tables, tables } from '../../src/service/store/schema/tables.ts'
import { databases } from '../support/databases.ts'
import { addWallet } from './wallets.ts'

type Columns = Record<string, string>

/**
 * Returns the declared type of each column, by table and column. The TypeScript types of the rows come from the same
 * declarations.
 */
function declaredColumns(): Columns {
  const columns: Columns = {}
  for (const [name, table] of Object.entries<Table>(tables)) {
    for (const [column, { type, isNullable }] of columnsOf(table)) {
      columns[`${name}.${column}`] = isNullable ? `${type} or null` : type
    }
  }
  return columns
}

interface ColumnRow {
  table: string
  column: string
  type: string
  required: number | boolean
}

const sqliteColumns = sql<ColumnRow>`
  select t.name as "table", c.name as "column", lower(c.type) as type, c."notnull" as required
  from sqlite_master t, pragma_table_info(t.name) c where t.type = 'table'`
const postgresColumns = sql<ColumnRow>`
  select table_name as "table", column_name as "column", data_type as type, is_nullable = 'NO' as required
  from information_schema.columns where table_schema = 'public'`

async function readColumns(db: Kysely<Tables>, dialect: 'sqlite' | 'postgres'): Promise<Columns> {
  const { rows } = await (dialect === 'sqlite' ? sqliteColumns : postgresColumns).execute(db)
  const ownRows = rows.filter(({ table }) => !table.startsWith('sqlite_'))
  return Object.fromEntries(
    ownRows.map(({ table, column, type: typeName, required }) => {
      const type = typeName === 'bytea' || typeName === 'blob' ? 'bytes' : typeName
      return [`${table}.${column}`, required ? type : `${type} or null`]
    }),
  )
}

describe.each(databases)('the schema on $name', (database) => {
  let opened: Awaited<ReturnType<typeof database.create>>
  beforeEach(async () => {
    opened = await database.create()
  })
  afterEach(() => opened.drop())

  test('the database has exactly the columns that the code declares', async () => {
    const columns = await opened.store.read(({ db }) => readColumns(db, database.name))
    expect(columns).toEqual(declaredColumns())
  })

  test('the balance of a wallet can be below zero, but by no more than the amounts returned to banks', async () => {
    const { store } = opened
    await store.transaction((tx) => addWallet(tx))
    const set = (availableCents: number, returnedCents: number) =>
      store.transaction(({ db }) => db.updateTable('wallets').set({ availableCents, returnedCents }).execute())
    await set(-300, 300)
    await expect(set(-301, 300)).rejects.toThrow('wallets_below_zero_by_returns')
    await expect(set(-1, 0)).rejects.toThrow('wallets_below_zero_by_returns')
  })
})
