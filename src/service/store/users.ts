import { finderOf } from './engine/find.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import type { New } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { UserRow } from './schema/users.ts'

export async function findUser(tx: Transaction, id: string): Promise<UserRow | undefined> {
  return (await userById(tx, { id })).rows[0]
}

const userById = prepared((db, by: { id: string }) => db.selectFrom('users').selectAll().where('id', '=', by.id))

/** Finds the active user with the given email address, which must be in lower case. */
export async function findUserByEmail(tx: Transaction, email: string): Promise<UserRow | undefined> {
  return tx.db
    .selectFrom('users')
    .selectAll()
    .where('email', '=', email)
    .where('status', '=', 'ACTIVE')
    .executeTakeFirst()
}

/** Returns whether a party has or ever had a user with a password. */
export async function hasPasswords(tx: Transaction, partyId: string): Promise<boolean> {
  return (await onePasswordOf(tx, { partyId })).rows.length > 0
}

const onePasswordOf = prepared((db, by: { partyId: string }) =>
  db
    .selectFrom('users')
    .innerJoin('passwords', 'passwords.userId', 'users.id')
    .select('users.id')
    .where('users.partyId', '=', by.partyId)
    .limit(1),
)

/** Returns whether a party has or ever had a user. */
export async function hasUsers(tx: Transaction, partyId: string): Promise<boolean> {
  return (await oneUserOf(tx, { partyId })).rows.length > 0
}

const oneUserOf = prepared((db, by: { partyId: string }) =>
  db.selectFrom('users').select('id').where('partyId', '=', by.partyId).limit(1),
)

/**
 * Finds the active owner who was created first, in any party. In the sandbox, this is normally an owner from the
 * initial world.
 */
export async function firstOwner(tx: Transaction): Promise<UserRow | undefined> {
  return tx.db
    .selectFrom('users')
    .selectAll()
    .where('role', '=', 'OWNER')
    .where('status', '=', 'ACTIVE')
    .orderBy('id')
    .executeTakeFirst()
}

/** Returns the active users of all parties, oldest first. */
export function activeUsers(tx: Transaction, limit: number): Promise<UserRow[]> {
  return tx.db.selectFrom('users').selectAll().where('status', '=', 'ACTIVE').orderBy('id').limit(limit).execute()
}

/** Finds a user of a party by id, even if the user has been removed. */
export const findMember = finderOf('users', 'partyId', 'id')

/** Returns a party's users, including removed users, newest first. */
export function listMembers(tx: Transaction, partyId: string, page: PageRequest): Promise<PageOf<UserRow>> {
  return walk(tx, combinations({ partyId: [partyId] }), page, partyId)
}

const walk = createIndexWalk('users', (db) => db.selectFrom('users').selectAll())

/** Returns whether the user's party has an active owner other than this user. */
export async function hasOtherOwner(tx: Transaction, { partyId, id }: UserRow): Promise<boolean> {
  return (await otherOwners(tx, { partyId, id })).rows.length > 0
}

const otherOwners = prepared((db, by: { partyId: string; id: string }) =>
  db
    .selectFrom('users')
    .select('id')
    .where('partyId', '=', by.partyId)
    .where('role', '=', 'OWNER')
    .where('status', '=', 'ACTIVE')
    .where('id', '!=', by.id)
    .limit(1),
)

/** Removes a user from the party permanently. */
export async function revokeUser(tx: Transaction, { partyId, id }: UserRow, atMs: number): Promise<void> {
  await tx.db
    .updateTable('users')
    .set({ status: 'REVOKED', updatedAtMs: atMs })
    .where('partyId', '=', partyId)
    .where('id', '=', id)
    .execute()
}

/** Returns a party's active owners and admins, who decide on requests that wait for approval. */
export async function decidersOf(tx: Transaction, partyId: string, limit: number): Promise<UserRow[]> {
  return (await deciders(tx, { partyId, limit })).rows
}

const deciders = prepared((db, by: { partyId: string; limit: number }) =>
  db
    .selectFrom('users')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('status', '=', 'ACTIVE')
    .where('role', 'in', ['OWNER', 'ADMIN'])
    .orderBy('id')
    .limit(by.limit),
)

/**
 * Records when the user last verified a second factor.
 * @param atMs The time by the sandbox clock; if null, the user must verify again.
 */
export async function markVerified(tx: Transaction, userId: string, atMs: number | null): Promise<void> {
  await tx.db.updateTable('users').set({ mfaVerifiedAtMs: atMs }).where('id', '=', userId).execute()
}

/** The defaults of a new user. */
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
