import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { SecondFactorRow } from './schema/second-factors.ts'

/**
 * Locks and reads a user's second factor. Call this function before `saveSecondFactor`. Because of the lock, two codes
 * that are entered at the same time are checked one after the other.
 */
export async function lockSecondFactor(tx: Transaction, userId: string): Promise<SecondFactorRow> {
  await tx.lock(`second factor ${userId}`)
  return (await factorOf(tx, { userId })).rows[0] ?? emptyFactor(userId)
}

export async function findSecondFactor(tx: Transaction, userId: string): Promise<SecondFactorRow> {
  return (await factorOf(tx, { userId })).rows[0] ?? emptyFactor(userId)
}

function emptyFactor(userId: string): SecondFactorRow {
  return { userId, lastStep: null, refusedAtMs: '[]', seed: null, pendingSeed: null }
}

const factorOf = prepared((db, by: { userId: string }) =>
  db.selectFrom('secondFactors').selectAll().where('userId', '=', by.userId),
)

export async function saveSecondFactor(tx: Transaction, row: SecondFactorRow): Promise<void> {
  await upsert(tx, row)
}

const upsert = prepared((db, { userId, ...rest }: SecondFactorRow) =>
  db
    .insertInto('secondFactors')
    .values({ userId, ...rest })
    .onConflict((conflict) => conflict.column('userId').doUpdateSet(rest)),
)
