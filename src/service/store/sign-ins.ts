import type { Transaction } from './engine/store.ts'
import type { PasswordRow, SignInSessionRow, SigningKeyRow } from './schema/oauth-schema.ts'
import type { AgentRow, UserRow } from './schema/tables.ts'

export async function findUserByEmail(tx: Transaction, email: string): Promise<UserRow | undefined> {
  return tx.db.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst()
}

/** The user who was there first: in the sandbox, its seeded owner. */
export async function firstOwner(tx: Transaction): Promise<UserRow | undefined> {
  return tx.db.selectFrom('users').selectAll().where('role', '=', 'OWNER').orderBy('id').executeTakeFirst()
}

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

/** The newest first. */
export async function signingKeys(tx: Transaction): Promise<SigningKeyRow[]> {
  const rows = await tx.db.selectFrom('signingKeys').selectAll().orderBy('createdAtMs', 'desc').orderBy('kid').execute()
  return Promise.all(rows.map(async (row) => ({ ...row, jwk: await tx.wrapping.open(row.jwk) })))
}

export async function insertSigningKey(tx: Transaction, row: SigningKeyRow): Promise<void> {
  const jwk = await tx.wrapping.wrap(row.jwk)
  await tx.db
    .insertInto('signingKeys')
    .values({ ...row, jwk })
    .execute()
}

export async function deleteSigningKey(tx: Transaction, kid: string): Promise<void> {
  await tx.db.deleteFrom('signingKeys').where('kid', '=', kid).execute()
}

/** More than a person can choose from by eye. */
const mostAgents = 100

/** A party's agents that work, the one used last first. */
export async function activeAgents(tx: Transaction, partyId: string): Promise<AgentRow[]> {
  const rows = await tx.db
    .selectFrom('agents')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('status', '=', 'ACTIVE')
    .orderBy('id', 'desc')
    .limit(mostAgents)
    .execute()
  return rows.sort((a, b) => (b.lastActiveAtMs ?? 0) - (a.lastActiveAtMs ?? 0))
}
