import { deletingOldest } from './engine/deletions.ts'
import { preparedInsert } from './engine/insert.ts'
import type { Transaction } from './engine/store.ts'
import type { PasswordRow } from './schema/passwords.ts'

export async function findPassword(tx: Transaction, userId: string): Promise<PasswordRow | undefined> {
  return tx.db.selectFrom('passwords').selectAll().where('userId', '=', userId).executeTakeFirst()
}

export async function savePassword(tx: Transaction, row: PasswordRow): Promise<void> {
  const { hash } = row
  await tx.db
    .insertInto('passwords')
    .values(row)
    .onConflict((conflict) => conflict.column('userId').doUpdateSet({ hash }))
    .execute()
}

/**
 * Counts the wrong passwords that were entered for an account since a given time. `here` counts those from this source,
 * and `anywhere` those from all sources except known browsers. The caller must hold the account's lock.
 */
export async function countRefusedPasswords(
  tx: Transaction,
  { account, source, sinceMs }: { account: string; source: string; sinceMs: number },
): Promise<{ here: number; anywhere: number }> {
  const rows = await tx.db
    .selectFrom('refusedPasswords')
    .select(({ fn }) => ['source', fn.countAll().as('count')])
    .where('account', '=', account)
    .where('refusedAtMs', '>', sinceMs)
    .groupBy('source')
    .execute()
  const atSource = rows.find((row) => row.source === source)
  return {
    here: Number(atSource?.count ?? 0),
    // A browser in which the user has signed in before is assumed to be the user's own. Wrong passwords from this
    // browser do not lock out other sources.
    anywhere: rows.filter((row) => !isBrowser(row.source)).reduce((sum, { count }) => sum + Number(count), 0),
  }
}

export const insertRefusedPassword = preparedInsert('refusedPasswords')

/** How long a wrong password counts toward the limits on wrong passwords. */
export const refusalCountsMs = 15 * 60 * 1000

/** Deletes the oldest records of wrong passwords, and returns how many it deleted. */
export const deleteRefusedPasswords = deletingOldest('refusedPasswords', ['id'], 'refusedAtMs')

export async function forgetRefusedPasswords(tx: Transaction, account: string, source: string): Promise<void> {
  await tx.db.deleteFrom('refusedPasswords').where('account', '=', account).where('source', '=', source).execute()
}

const browserPrefix = 'browser '

/** Returns the `source` of attempts from a browser in which the user has signed in before. */
export function browserSource(idHash: string): string {
  return browserPrefix + idHash
}

export function isBrowser(source: string): boolean {
  return source.startsWith(browserPrefix)
}
