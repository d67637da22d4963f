import type { Kysely } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { preparedWrite } from './prepared.ts'
import type { Transaction } from './store.ts'

/** A row whose `Optional` columns may be omitted. */
export type New<Row, Optional extends keyof Row> = Omit<Row, Optional> & Partial<Pick<Row, Optional>>

/** Makes a function that inserts a row into a table. The row must have a value for every column. */
export function preparedInsert<Table extends keyof Tables>(
  table: Table,
): (tx: Transaction, row: Tables[Table]) => Promise<void> {
  return preparedWrite((db, row: Tables[Table]) => db.insertInto(table).values(row as never))
}

/** The maximum number of rows in one statement. There is a separate statement for each number of rows. */
export const maxRows = 8

/**
 * Makes a function that inserts several rows into a table with as few statements as possible.
 * @param valuesOf Returns the values to insert. Needed only if SQL computes some of them. It receives placeholders
 * instead of the row's values.
 * @param into Begins the statement, for example with a `with` clause. It receives the placeholders of the first row.
 */
export function preparedBulkInsert<Table extends keyof Tables, Given extends object = Tables[Table]>(
  table: Table,
  valuesOf: (db: Kysely<Tables>, row: Given) => object = (_db, row) => row,
  into: (db: Kysely<Tables>, first: Given) => Kysely<Tables> = (db) => db,
): (tx: Transaction, rows: readonly Given[]) => Promise<void> {
  const byCount = Array.from({ length: maxRows + 1 }, () =>
    preparedWrite((db, rows: readonly Given[]) =>
      into(db, rows[0] as Given)
        .insertInto(table)
        .values(rows.map((row) => valuesOf(db, row)) as never),
    ),
  )
  return async (tx, rows) => {
    for (let start = 0; start < rows.length; start += maxRows) {
      const batch = rows.slice(start, start + maxRows)
      await byCount[batch.length]?.(tx, batch)
    }
  }
}
