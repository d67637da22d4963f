import type { Transaction } from './engine/store.ts'
import type { KnownBrowserRow, SignInSessionRow } from './schema/browser-sessions.ts'

export async function insertSession(tx: Transaction, row: SignInSessionRow): Promise<void> {
  const ended = tx.db.deleteFrom('signInSessions').where('expiresAtMs', '<=', row.createdAtMs)
  await ended.execute()
  await tx.db.insertInto('signInSessions').values(row).execute()
}

export async function findSession(tx: Transaction, idHash: string): Promise<SignInSessionRow | undefined> {
  return tx.db.selectFrom('signInSessions').selectAll().where('idHash', '=', idHash).executeTakeFirst()
}

export async function deleteSession(tx: Transaction, idHash: string): Promise<void> {
  await tx.db.deleteFrom('signInSessions').where('idHash', '=', idHash).execute()
}

export async function deleteSessionsOf(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('signInSessions').where('userId', '=', userId).execute()
}

export async function findKnownBrowser(tx: Transaction, idHash: string): Promise<KnownBrowserRow | undefined> {
  return tx.db.selectFrom('knownBrowsers').selectAll().where('idHash', '=', idHash).executeTakeFirst()
}

/** Keeps a browser in place of what its cookie was before, and forgets those that ended. */
export async function replaceKnownBrowser(tx: Transaction, row: KnownBrowserRow, before: string | null): Promise<void> {
  await tx.db.deleteFrom('knownBrowsers').where('expiresAtMs', '<=', row.createdAtMs).execute()
  if (before !== null) await tx.db.deleteFrom('knownBrowsers').where('idHash', '=', before).execute()
  await tx.db.insertInto('knownBrowsers').values(row).execute()
}

export async function deleteKnownBrowsersOf(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('knownBrowsers').where('userId', '=', userId).execute()
}
