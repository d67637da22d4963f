import { inserting } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { GrantTokenRow } from './schema/access-tokens.ts'
import type { AgentRow } from './schema/agents.ts'
import type { CredentialRow } from './schema/credentials.ts'

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

export const insertAccessToken = inserting('accessTokens')

export async function findGrantToken(tx: Transaction, secretHash: string): Promise<GrantTokenRow | undefined> {
  return (await grantTokenByHash(tx, { secretHash })).rows[0]
}

const grantTokenByHash = prepared((db, by: { secretHash: string }) =>
  db.selectFrom('grantTokens').selectAll().where('secretHash', '=', by.secretHash),
)

export const insertGrantToken = inserting('grantTokens')

/** Forgets at most `limit` tokens of that kind that ended by then. */
export async function purgeTokens(
  tx: Transaction,
  kind: 'accessTokens' | 'grantTokens',
  endedByMs: number,
  limit: number,
): Promise<void> {
  const ended = tx.db.selectFrom(kind).select('id').where('expiresAtMs', '<=', endedByMs).orderBy('expiresAtMs')
  await tx.db.deleteFrom(kind).where('id', 'in', ended.limit(limit)).execute()
}
