import { deletingOldest } from './engine/deletions.ts'
import { type New, preparedInsert } from './engine/insert.ts'
import type { Transaction } from './engine/store.ts'
import type { KnownBrowserRow, SignInLinkRow, SignInSessionRow } from './schema/browser-sessions.ts'

const insert = preparedInsert('signInSessions')

export async function insertSession(tx: Transaction, session: New<SignInSessionRow, 'oneClick'>): Promise<void> {
  await insert(tx, { oneClick: 0, ...session })
}

/** Deletes expired sessions and returns how many it deleted. */
export const deleteSessions = deletingOldest('signInSessions', ['idHash'], 'expiresAtMs')

/** Deletes expired records of known browsers and returns how many it deleted. */
export const deleteKnownBrowsers = deletingOldest('knownBrowsers', ['idHash'], 'expiresAtMs')

export async function findSession(tx: Transaction, idHash: string): Promise<SignInSessionRow | undefined> {
  return tx.db.selectFrom('signInSessions').selectAll().where('idHash', '=', idHash).executeTakeFirst()
}

export async function deleteSession(tx: Transaction, idHash: string): Promise<void> {
  await tx.db.deleteFrom('signInSessions').where('idHash', '=', idHash).execute()
}

export async function deleteSessionsOf(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('signInSessions').where('userId', '=', userId).execute()
}

/** Records that the user of a session that began with one click has since authenticated. */
export async function markSessionProven(tx: Transaction, idHash: string): Promise<void> {
  await tx.db.updateTable('signInSessions').set({ oneClick: 0 }).where('idHash', '=', idHash).execute()
}

export const insertSignInLink = preparedInsert('signInLinks')

/** Deletes expired one-time links and returns how many it deleted. */
export const deleteSignInLinks = deletingOldest('signInLinks', ['codeHash'], 'expiresAtMs')

export async function findSignInLink(tx: Transaction, codeHash: string): Promise<SignInLinkRow | undefined> {
  return tx.db.selectFrom('signInLinks').selectAll().where('codeHash', '=', codeHash).executeTakeFirst()
}

/** Uses up a one-time link by deleting it. Returns false if the link was already deleted. */
export async function takeSignInLink(tx: Transaction, codeHash: string): Promise<boolean> {
  const { numDeletedRows } = await tx.db.deleteFrom('signInLinks').where('codeHash', '=', codeHash).executeTakeFirst()
  return numDeletedRows === 1n
}

export async function deleteSignInLinksOf(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('signInLinks').where('userId', '=', userId).execute()
}

export async function findKnownBrowser(tx: Transaction, idHash: string): Promise<KnownBrowserRow | undefined> {
  return tx.db.selectFrom('knownBrowsers').selectAll().where('idHash', '=', idHash).executeTakeFirst()
}

/**
 * Stores a known browser. Also deletes the browser's previous record, whose `idHash` is `before`, unless `before` is
 * null.
 */
export async function replaceKnownBrowser(tx: Transaction, row: KnownBrowserRow, before: string | null): Promise<void> {
  if (before !== null) await tx.db.deleteFrom('knownBrowsers').where('idHash', '=', before).execute()
  await tx.db.insertInto('knownBrowsers').values(row).execute()
}

export async function deleteKnownBrowsersOf(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('knownBrowsers').where('userId', '=', userId).execute()
}
