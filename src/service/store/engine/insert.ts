import type { Tables } from '../schema/tables.ts'
import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'

/** A row that leaves out what it has no value for. */
export type New<Row, Optional extends keyof Row> = Omit<Row, Optional> & Partial<Pick<Row, Optional>>

/** What inserts whole rows into a table. */
export function inserting<Table extends keyof Tables>(
  table: Table,
): (tx: Transaction, row: Tables[Table]) => Promise<void> {
  const insert = prepared((db, row: Tables[Table]) => db.insertInto(table).values(row as never))
  return async (tx, row) => {
    await insert(tx, row)
  }
}
