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

/** Makes a page of `limit + 1` rows that were read to see whether more follow. */
export function pageOf<Row>(rows: Row[], limit: number, idOf: (row: Row) => string): PageOf<Row> {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, lastId: rows.length > limit && last !== undefined ? idOf(last) : null }
}
