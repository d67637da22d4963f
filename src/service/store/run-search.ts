import { sql } from 'kysely'
import { type PageOf, pageOf } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { RunEntryRow } from './schema/runs.ts'

/** One page of a search: the matches after a row, in the order of the search. */
export interface SearchPage {
  limit: number
  /** Null to begin with the first match. */
  fromId: string | null
}

/** The maximum number of entries whose texts one search reads. */
export const maxEntriesSearched = 2000

interface TextScope {
  partyId: string
  text: string
  isOldestFirst?: boolean
}

/**
 * Returns entries of all runs whose stored details contain a text, ignoring case. A page may have fewer entries than
 * requested; the next page continues after the searched entries.
 */
export async function entriesWithText(
  tx: Transaction,
  { partyId, text, isOldestFirst = false }: TextScope,
  { limit, fromId }: SearchPage,
): Promise<PageOf<RunEntryRow>> {
  const [order, follows] = isOldestFirst ? (['asc', '>'] as const) : (['desc', '<'] as const)
  const all = tx.db.selectFrom('runEntries').where('partyId', '=', partyId).orderBy('id', order)
  const portion = fromId === null ? all : all.where('id', follows, fromId)
  // Details are stored as JSON, so the text is escaped in the same way before the comparison.
  const written = JSON.stringify(text).slice(1, -1)
  const detail = sql.ref('detail')
  const rows = await tx.db
    .selectFrom(portion.selectAll().limit(maxEntriesSearched).as('portion'))
    .selectAll()
    .where(
      sql<boolean>`(lower(${detail}) like ${likeText(written.toLowerCase())} escape '!' or ${detail} like ${likeText(written)} escape '!')`,
    )
    .orderBy('id', order)
    .limit(limit + 1)
    .execute()
  if (rows.length > limit) return pageOf(rows, limit, ({ id }) => id)
  const last = await portion
    .select('id')
    .offset(maxEntriesSearched - 1)
    .limit(1)
    .executeTakeFirst()
  return { rows, lastId: last?.id ?? null }
}

const likeText = (text: string) => `%${text.replace(/[!%_]/g, '!$&')}%`
