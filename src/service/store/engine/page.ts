import { type SelectQueryBuilder, sql } from 'kysely'
import type { Tables } from '../schema/tables.ts'

/** Which part of a list is asked for: at most `limit` rows whose id sorts before `beforeId`, newest first. */
export interface PageRequest {
  limit: number
  beforeId: string | null
}

export interface PageOf<Row> {
  rows: Row[]
  /** The id after which the next page goes on; null on the last page. */
  lastId: string | null
}

/** Reads a page of the rows that a query finds. Where it joins tables, `idColumn` names the id among them. */
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

/** Makes a page of `limit + 1` rows that were read to see whether more follow. */
export function pageOf<Row>(rows: Row[], limit: number, idOf: (row: Row) => string): PageOf<Row> {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, lastId: rows.length > limit && last !== undefined ? idOf(last) : null }
}
