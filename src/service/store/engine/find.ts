import type { Compilable } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'

type Columns<Table extends keyof Tables> = readonly (keyof Tables[Table] & string)[]

type ValuesOf<Row, Names extends readonly (keyof Row)[]> = { [Index in keyof Names]: Row[Names[Index]] }

/** Makes a function that finds the rows of a table by their values in the named columns. */
export function preparedSelect<Table extends keyof Tables, const Names extends Columns<Table>>(
  table: Table,
  ...names: Names
) {
  return prepared((db, by: Pick<Tables[Table], Names[number]>): Compilable<Tables[Table]> => {
    // Kysely has no type for a table that is known only as a type parameter, so `wallets` serves as a placeholder.
    let query = db.selectFrom(table as 'wallets').selectAll()
    for (const name of names) query = query.where(name as 'id', '=', by[name as Names[number]] as string)
    return query as unknown as Compilable<Tables[Table]>
  })
}

/** Makes a function that finds a row by the named columns, which must form a primary key or a unique key. */
export function finderOf<Table extends keyof Tables, const Names extends Columns<Table>>(
  table: Table,
  ...names: Names
) {
  const select = preparedSelect(table, ...names)
  return async (tx: Transaction, ...values: ValuesOf<Tables[Table], Names>): Promise<Tables[Table] | undefined> => {
    const by = Object.fromEntries(names.map((name, index) => [name, values[index]]))
    return (await select(tx, by as Pick<Tables[Table], Names[number]>)).rows[0]
  }
}
