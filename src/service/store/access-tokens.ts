import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AccessTokenRow } from './schema/credential-tables.ts'
import type { AgentRow, CredentialRow } from './schema/tables.ts'

/** The key that a token was made from, with the token's own hash and end. */
export type Exchanged = CredentialRow & {
  agentStatus: AgentRow['status'] | null
  tokenHash: string
  tokenExpiresAtMs: number
}

export async function findExchanged(tx: Transaction, tokenHash: string): Promise<Exchanged | undefined> {
  return (await tokenByHash(tx, { tokenHash })).rows[0]
}

const tokenByHash = prepared((db, by: { tokenHash: string }) =>
  db
    .selectFrom('accessTokens')
    .innerJoin('credentials', 'credentials.id', 'accessTokens.credentialId')
    .leftJoin('agents', 'agents.id', 'credentials.agentId')
    .selectAll('credentials')
    .select([
      'agents.status as agentStatus',
      'accessTokens.secretHash as tokenHash',
      'accessTokens.expiresAtMs as tokenExpiresAtMs',
    ])
    .where('accessTokens.secretHash', '=', by.tokenHash),
)

export async function insertAccessToken(tx: Transaction, row: AccessTokenRow): Promise<void> {
  await insert(tx, row)
}

const insert = prepared((db, row: AccessTokenRow) => db.insertInto('accessTokens').values(row))

/** Forgets at most `limit` tokens that ended by then. */
export async function purgeAccessTokens(tx: Transaction, endedByMs: number, limit: number): Promise<void> {
  const ended = await tx.db
    .selectFrom('accessTokens')
    .select('id')
    .where('expiresAtMs', '<=', endedByMs)
    .orderBy('expiresAtMs')
    .limit(limit)
    .execute()
  if (ended.length === 0) return
  const ids = ended.map(({ id }) => id)
  await tx.db.deleteFrom('accessTokens').where('id', 'in', ids).execute()
}
