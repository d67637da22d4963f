import type { New } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { UserRow } from './schema/users.ts'

export async function findUser(tx: Transaction, id: string): Promise<UserRow | undefined> {
  return (await userById(tx, { id })).rows[0]
}

const userById = prepared((db, by: { id: string }) => db.selectFrom('users').selectAll().where('id', '=', by.id))

export async function findUserByEmail(tx: Transaction, email: string): Promise<UserRow | undefined> {
  return tx.db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst()
}

/** The user who was there first: in the sandbox, its seeded owner. */
export async function firstOwner(tx: Transaction): Promise<UserRow | undefined> {
  return tx.db.selectFrom('users').selectAll().where('role', '=', 'OWNER').orderBy('id').executeTakeFirst()
}

/** @param atMs The service's time. */
export async function markVerified(tx: Transaction, userId: string, atMs: number): Promise<void> {
  await tx.db.updateTable('users').set({ mfaVerifiedAtMs: atMs }).where('id', '=', userId).execute()
}

/** What a user begins as unless more is said of them. */
export const newUser = {
  mfaVerifiedAtMs: null,
  status: 'ACTIVE',
  updatedAtMs: null,
} as const satisfies Partial<UserRow>

export async function createUser(tx: Transaction, user: New<UserRow, keyof typeof newUser>): Promise<void> {
  await tx.db
    .insertInto('users')
    .values({ ...newUser, ...user })
    .execute()
}
