import { sql } from 'kysely'
import { type PageOf, pageOf } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import { findPartyHead } from './party-heads.ts'
import type { EventRow } from './schema/events.ts'
import type { LedgerEntryRow } from './schema/ledger.ts'
import type { RunEntryRow } from './schema/runs.ts'

/** The requested part of a search: the next matches after a row, in the order of the search. */
export interface SearchPage {
  limit: number
  /** Null: from the beginning. */
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
 * Returns entries of all runs whose stored details contain a text, in either case. A page may end early; the next one
 * continues after the searched entries.
 */
export async function entriesWithText(
  tx: Transaction,
  { partyId, text, isOldestFirst = false }: TextScope,
  { limit, fromId }: SearchPage,
): Promise<PageOf<RunEntryRow>> {
  const [order, follows] = isOldestFirst ? (['asc', '>'] as const) : (['desc', '<'] as const)
  const all = tx.db.selectFrom('runEntries').where('partyId', '=', partyId).orderBy('id', order)
  const looked = fromId === null ? all : all.where('id', follows, fromId)
  // Details are JSON, so the text is compared as JSON would write it.
  const written = JSON.stringify(text).slice(1, -1)
  const detail = sql.ref('detail')
  const rows = await tx.db
    .selectFrom(looked.selectAll().limit(maxEntriesSearched).as('looked'))
    .selectAll()
    .where(
      sql<boolean>`(lower(${detail}) like ${likeText(written.toLowerCase())} escape '!' or ${detail} like ${likeText(written)} escape '!')`,
    )
    .orderBy('id', order)
    .limit(limit + 1)
    .execute()
  if (rows.length > limit) return pageOf(rows, limit, ({ id }) => id)
  const last = await looked
    .select('id')
    .offset(maxEntriesSearched - 1)
    .limit(1)
    .executeTakeFirst()
  return { rows, lastId: last?.id ?? null }
}

const likeText = (text: string) => `%${text.replace(/[!%_]/g, '!$&')}%`

/** The maximum number of the ledger's entries that one search reads. */
export const maxLedgerSearched = 20_000

/**
 * Returns the ledger entries that these records moved, oldest first. Entries have no index by record, since every
 * posting would pay for it: the search begins at an id that sorts before them.
 */
export async function ledgerOfRecords(
  { db }: Transaction,
  { partyId, sourceIds }: { partyId: string; sourceIds: readonly string[] },
  { limit, fromId }: { limit: number; fromId: string },
): Promise<PageOf<LedgerEntryRow>> {
  const looked = db.selectFrom('ledgerEntries').where('partyId', '=', partyId).where('id', '>', fromId).orderBy('id')
  const rows = await db
    .selectFrom(looked.selectAll().limit(maxLedgerSearched).as('looked'))
    .selectAll()
    .where('sourceId', 'in', sourceIds)
    .orderBy('id')
    .limit(limit + 1)
    .execute()
  if (rows.length > limit) return pageOf(rows, limit, ({ id }) => id)
  const last = await looked
    .select('id')
    .offset(maxLedgerSearched - 1)
    .limit(1)
    .executeTakeFirst()
  return { rows, lastId: last?.id ?? null }
}

/** The most sides of one posting. */
const maxSides = 10

/** Returns the entries of one posting that belong to a party. */
export function ledgerOfPosting({ db }: Transaction, partyId: string, postingId: string): Promise<LedgerEntryRow[]> {
  const ids = [...Array(maxSides).keys()].map((side) => `${postingId}_${side}`)
  const rows = db.selectFrom('ledgerEntries').selectAll().where('partyId', '=', partyId)
  return rows.where('id', 'in', ids).orderBy('id').execute()
}

/** The maximum number of events that one search reads. */
export const maxEventsSearched = 10_000

/** Returns a party's events of one record before a number, newest first, and the number to continue before. */
export async function eventsOfRecord(
  tx: Transaction,
  { partyId, resourceId }: { partyId: string; resourceId: string },
  { limit, before }: { limit: number; before: number | null },
): Promise<{ rows: EventRow[]; lastSequence: number | null }> {
  const end = before ?? ((await findPartyHead(tx, partyId))?.eventSequence ?? 0) + 1
  const rows = await tx.db
    .selectFrom('events')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('sequence', '<', end)
    .where('sequence', '>=', end - maxEventsSearched)
    .where('resourceId', '=', resourceId)
    .orderBy('sequence', 'desc')
    .limit(limit + 1)
    .execute()
  if (rows.length > limit) return { rows: rows.slice(0, limit), lastSequence: rows[limit - 1]?.sequence ?? null }
  return { rows, lastSequence: end > maxEventsSearched ? end - maxEventsSearched : null }
}
