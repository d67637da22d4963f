import { type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../schema/tables.ts'

/** The requested part of a list: at most `limit` rows, newest first; only ids below `beforeId` if it is set. */
export interface PageRequest {
  limit: number
  beforeId: string | null
}

export interface PageOf<Row> {
  rows: Row[]
  /** The id of the page's last row, after which the next page begins; null on the last page. */
  lastId: string | null
}

/** Reads a page of a query's rows. If the query joins tables, `idColumn` is the qualified name of the id column. */
export async function readPage<Table extends keyof Tables, Row extends { id: string }>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { limit, beforeId }: PageRequest,
  idColumn = 'id',
): Promise<PageOf<Row>> {
  const id = sql.ref<string>(idColumn)
  const rest = beforeId === null ? query : query.where(id, '<', beforeId)
  const rows = await rest
    .orderBy(id, 'desc')
    .limit(limit + 1)
    .execute()
  return pageOf(rows as Row[], limit, (row) => row.id)
}

/** Makes a page from up to `limit + 1` rows. The extra row shows that there is another page. */
export function pageOf<Row>(rows: Row[], limit: number, idOf: (row: Row) => string): PageOf<Row> {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, lastId: rows.length > limit && last !== undefined ? idOf(last) : null }
}
