import { newId, type System } from '../../core/system.ts'
import { assertBalanced, type Posting } from '../rules/ledger.ts'
import { preparedBulkInsert } from './engine/insert.ts'
import type { DatedPosting, Posted } from './engine/journal.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { LedgerEntryRow } from './schema/ledger.ts'
import type { WalletRow } from './schema/wallets.ts'
import { moveBalances } from './wallets.ts'

/**
 * Enters a posting and changes the wallet's balances accordingly.
 * @throws StaleWriteError if the wallet no longer has the money, or if its status has changed since it was read.
 */
export async function post(
  tx: Transaction,
  system: System,
  wallet: WalletRow,
  posting: Posting,
  at: Omit<DatedPosting, 'posting'>,
): Promise<void> {
  await postAll(tx, system, wallet, [{ ...at, posting }])
}

/** Enters several postings on one wallet, and changes the wallet's balances with a single update. */
export async function postAll(
  tx: Transaction,
  system: System,
  wallet: WalletRow,
  postings: readonly DatedPosting[],
): Promise<void> {
  await postBetween(tx, system, [wallet], postings)
}

/**
 * Enters postings on several wallets. The wallets' rows are updated in the order of their ids, so that two transactions
 * that change the same wallets cannot deadlock.
 */
export async function postBetween(
  tx: Transaction,
  system: System,
  wallets: readonly WalletRow[],
  postings: readonly DatedPosting[],
): Promise<void> {
  const [first] = wallets
  if (first === undefined) throw new Error('Bug: postings were entered on no wallet.')
  for (const { posting } of postings) assertBalanced(posting)
  if (wallets.some(({ partyId }) => partyId !== wallets[0]?.partyId)) tx.runAlone()
  const ordered = [...wallets].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const wallet of ordered) {
    await moveBalances(
      tx,
      wallet,
      postings.map(({ posting }) => posting),
    )
  }
  const entries = postings.flatMap(({ posting, nowMs, sourceId }) => {
    const postingId = newId('pst', system, nowMs)
    return posting.entries.map(({ account, walletId, amountCents }, index) => {
      const { partyId } = wallets.find(({ id }) => id === walletId) ?? first
      const entry = { id: `${postingId}_${index}`, postingId, partyId, account, walletId, amountCents }
      return { ...entry, reason: posting.reason, sourceId, createdAtMs: nowMs }
    })
  })
  await insertEntries(tx, entries)
  const { byDueEffect } = tx.journal
  tx.atEnd(
    notePosted,
    postings.map((posting) => ({ ...posting, partyId: first.partyId, byDueEffect })),
  )
}

/**
 * Adds postings to the journal. This runs at the end of the transaction, so that the journal never contains postings
 * that a rollback to a savepoint has undone.
 */
async function notePosted(tx: Transaction, posted: readonly (readonly Posted[])[]): Promise<void> {
  tx.journal.postings.push(...posted.flat())
}

const insertEntries = preparedBulkInsert('ledgerEntries')

/**
 * The maximum number of a party's entries that are scanned for one page of a wallet's entries. Entries have no index by
 * wallet, because such an index would slow down every posting.
 */
const maxScanned = 20_000

/**
 * Returns a page of a wallet's entries, newest first. A page may have fewer entries than requested, even if more pages
 * follow.
 */
export async function walletEntries(
  { db }: Transaction,
  { partyId, walletId }: { partyId: string; walletId: string },
  { limit, beforeId }: PageRequest,
): Promise<PageOf<LedgerEntryRow>> {
  const all = db.selectFrom('ledgerEntries').where('partyId', '=', partyId).orderBy('id', 'desc')
  const newest = beforeId === null ? all : all.where('id', '<', beforeId)
  const found = await db
    .selectFrom(newest.selectAll().limit(maxScanned).as('newest'))
    .selectAll()
    .where('walletId', '=', walletId)
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  if (found.length > limit) return pageOf(found, limit, ({ id }) => id)
  const end = await newest
    .select('id')
    .offset(maxScanned - 1)
    .limit(1)
    .executeTakeFirst()
  return { rows: found, lastId: end?.id ?? null }
}

/** Returns a party's newest ledger entries, at most `limit`. */
export async function entriesOfParty(tx: Transaction, partyId: string, limit: number): Promise<LedgerEntryRow[]> {
  return (await newestOfParty(tx, { partyId, limit })).rows
}

const newestOfParty = prepared((db, by: { partyId: string; limit: number }) =>
  db.selectFrom('ledgerEntries').selectAll().where('partyId', '=', by.partyId).orderBy('id', 'desc').limit(by.limit),
)

/** The maximum number of ledger entries that one search reads. */
export const maxLedgerSearched = 20_000

/**
 * Returns a page of the ledger entries that the given records caused, oldest first. Entries have no index by record,
 * because such an index would slow down every posting. Instead, this scans the entries with ids greater than `fromId`.
 */
export async function ledgerOfRecords(
  { db }: Transaction,
  { partyId, sourceIds }: { partyId: string; sourceIds: readonly string[] },
  { limit, fromId }: { limit: number; fromId: string },
): Promise<PageOf<LedgerEntryRow>> {
  const portion = db.selectFrom('ledgerEntries').where('partyId', '=', partyId).where('id', '>', fromId).orderBy('id')
  const rows = await db
    .selectFrom(portion.selectAll().limit(maxLedgerSearched).as('portion'))
    .selectAll()
    .where('sourceId', 'in', sourceIds)
    .orderBy('id')
    .limit(limit + 1)
    .execute()
  if (rows.length > limit) return pageOf(rows, limit, ({ id }) => id)
  const last = await portion
    .select('id')
    .offset(maxLedgerSearched - 1)
    .limit(1)
    .executeTakeFirst()
  return { rows, lastId: last?.id ?? null }
}

/** The maximum number of entries in one posting. */
const maxEntriesPerPosting = 10

/** Returns a party's entries in one posting. */
export function ledgerOfPosting({ db }: Transaction, partyId: string, postingId: string): Promise<LedgerEntryRow[]> {
  const ids = [...Array(maxEntriesPerPosting).keys()].map((index) => `${postingId}_${index}`)
  const rows = db.selectFrom('ledgerEntries').selectAll().where('partyId', '=', partyId)
  return rows.where('id', 'in', ids).orderBy('id').execute()
}
