import { sql } from 'kysely'
import { type PageOf, pageOf } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { RunEntryRow } from './schema/runs.ts'

/** The requested page of a search. */
export interface SearchPage {
  limit: number
  /** The page begins after the entry with this id; null for the first page. */
  fromId: string | null
}

/** The maximum number of entries that are searched for one page. */
export const maxEntriesSearched = 2000

interface TextScope {
  partyId: string
  text: string
  isOldestFirst?: boolean
}

/**
 * Returns a party's entries whose stored details contain a string, ignoring case. Some databases ignore case only for
 * ASCII letters. If few of the searched entries match, the page has fewer entries than requested, and the next page
 * continues after the searched entries.
 */
export async function entriesWithText(
  tx: Transaction,
  { partyId, text, isOldestFirst = false }: TextScope,
  { limit, fromId }: SearchPage,
): Promise<PageOf<RunEntryRow>> {
  const [order, follows] = isOldestFirst ? (['asc', '>'] as const) : (['desc', '<'] as const)
  const all = tx.db.selectFrom('runEntries').where('partyId', '=', partyId).orderBy('id', order)
  const portion = fromId === null ? all : all.where('id', follows, fromId)
  // Details are stored as JSON, so the string is escaped like a JSON string before the comparison.
  const escaped = JSON.stringify(text).slice(1, -1)
  const detail = sql.ref('detail')
  const rows = await tx.db
    .selectFrom(portion.selectAll().limit(maxEntriesSearched).as('portion'))
    .selectAll()
    .where(
      sql<boolean>`(lower(${detail}) like ${likePattern(escaped.toLowerCase())} escape '!' or ${detail} like ${likePattern(escaped)} escape '!')`,
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

const likePattern = (text: string) => `%${text.replace(/[!%_]/g, '!$&')}%`
