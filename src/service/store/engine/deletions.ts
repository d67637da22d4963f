import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Tables } from '../schema/tables.ts'
import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'

/** The rows to delete: at most `limit` rows whose time is `byMs` or earlier. */
export interface Outdated {
  byMs: number
  limit: number
}

/**
 * Makes a function that deletes the oldest outdated rows of a table in one statement, and returns the number of deleted
 * rows. `timeColumn` contains the time of each row, and needs an index. Rows that do not meet `condition` are not
 * deleted.
 */
export function deletingOldest<Table extends keyof Tables>(
  table: Table,
  key: readonly (keyof Tables[Table] & string)[],
  timeColumn: keyof Tables[Table] & string,
  condition: RawBuilder<SqlBool> = sql`1 = 1`,
): (tx: Transaction, outdated: Outdated) => Promise<number> {
  const [rows, columns, when] = [sql.table(table), sql.join(key.map((name) => sql.ref(name))), sql.ref(timeColumn)]
  const remove = prepared((db, { byMs, limit }: Outdated) => {
    const old = sql`select ${columns} from ${rows} where ${when} <= ${byMs} and ${condition} order by ${when} limit ${limit}`
    const statement = sql`delete from ${rows} where (${columns}) in (${old})`
    return { compile: () => statement.compile(db) }
  })
  return async (tx, outdated) => Number((await remove(tx, outdated)).numAffectedRows ?? 0n)
}
