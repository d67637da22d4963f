import { deletingOldest } from './engine/deletions.ts'
import { finderOf } from './engine/find.ts'
import { preparedInsert } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { CredentialRow } from './schema/credentials.ts'

/**
 * An API key that was exchanged for an access token, the status of the key's agent, and the token's hash and expiry.
 */
export type ExchangedKey = CredentialRow & {
  agentStatus: AgentRow['status'] | null
  tokenHash: string
  tokenExpiresAtMs: number
}

export async function findExchangedKey(tx: Transaction, tokenHash: string): Promise<ExchangedKey | undefined> {
  return (await tokenByHash(tx, { tokenHash })).rows[0]
}

const tokenByHash = prepared((db, by: { tokenHash: string }) =>
  db
    .selectFrom('accessTokens')
    .innerJoin('credentials', (join) =>
      join
        .onRef('credentials.partyId', '=', 'accessTokens.partyId')
        .onRef('credentials.id', '=', 'accessTokens.credentialId'),
    )
    .leftJoin('agents', (join) =>
      join.onRef('agents.partyId', '=', 'credentials.partyId').onRef('agents.id', '=', 'credentials.agentId'),
    )
    .selectAll('credentials')
    .select([
      'agents.status as agentStatus',
      'accessTokens.secretHash as tokenHash',
      'accessTokens.expiresAtMs as tokenExpiresAtMs',
    ])
    .where('accessTokens.secretHash', '=', by.tokenHash),
)

export const insertAccessToken = preparedInsert('accessTokens')

export const findGrantToken = finderOf('grantTokens', 'secretHash')

export const insertGrantToken = preparedInsert('grantTokens')

/** Deletes expired access tokens, and returns how many it deleted. */
export const deleteAccessTokens = deletingOldest('accessTokens', ['id'], 'expiresAtMs')

/** Deletes expired grant tokens, and returns how many it deleted. */
export const deleteGrantTokens = deletingOldest('grantTokens', ['id'], 'expiresAtMs')
