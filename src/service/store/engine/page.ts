import { type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../schema/tables.ts'

/**
 * A request for a part of a list: at most `limit` rows, newest first. If `beforeId` is set, only rows with lower ids.
 */
export interface PageRequest {
  limit: number
  beforeId: string | null
}

export interface PageOf<Row> {
  rows: Row[]
  /** The id of the last row on this page, which is the `beforeId` of the next page; null if this is the last page. */
  lastId: string | null
}

/**
 * Reads a page of a query's rows. If the query joins tables, `idColumn` must be the qualified name of the id column.
 */
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

/** Makes a page of the first `limit` rows. If `rows` contains more, there is a next page. */
export function pageOf<Row>(rows: Row[], limit: number, idOf: (row: Row) => string): PageOf<Row> {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, lastId: rows.length > limit && last !== undefined ? idOf(last) : null }
}
