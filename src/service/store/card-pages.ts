import { deletingOldest } from './engine/deletions.ts'
import { preparedInsert } from './engine/insert.ts'
import type { Transaction } from './engine/store.ts'
import type { CardPageRow } from './schema/card-pages.ts'

/** How long a page is stored after it expires. During this time, the page tells visitors that it has expired. */
export const expiredPageKeptMs = 24 * 60 * 60_000

export const insertCardPage = preparedInsert('cardPages')

/** Deletes expired pages and returns how many it deleted. */
export const deleteCardPages = deletingOldest('cardPages', ['tokenHash'], 'expiresAtMs')

export async function findCardPage(tx: Transaction, tokenHash: string): Promise<CardPageRow | undefined> {
  return tx.db.selectFrom('cardPages').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()
}

/**
 * Marks that the page has shown the card's number. Returns false if the page was already marked. If two calls run at
 * the same time, only one returns true.
 */
export async function markCardPageShown(tx: Transaction, tokenHash: string, nowMs: number): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('cardPages')
    .set({ shownAtMs: nowMs })
    .where('tokenHash', '=', tokenHash)
    .where('shownAtMs', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
