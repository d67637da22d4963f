import { expressionBuilder, sql } from 'kysely'
import { inserting } from './engine/insert.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { OAuthGrantRow } from './schema/oauth-grants.ts'
import type { Tables } from './schema/tables.ts'

/** A grant with its agent's status: deleting the agent ends the grant. */
export type GrantWithAgent = OAuthGrantRow & { agentStatus: AgentRow['status'] | null }

export async function findGrant(tx: Transaction, id: string): Promise<GrantWithAgent | undefined> {
  return (await grantById(tx, { id })).rows[0]
}

const grantById = prepared((db, by: { id: string }) =>
  db
    .selectFrom('oauthGrants')
    .leftJoin('agents', (join) =>
      join.onRef('agents.partyId', '=', 'oauthGrants.partyId').onRef('agents.id', '=', 'oauthGrants.agentId'),
    )
    .selectAll('oauthGrants')
    .select('agents.status as agentStatus')
    .where('oauthGrants.id', '=', by.id),
)

/** Returns whether a grant still works. @param realNowMs Real time, by which it expires. */
export function grantIsLive(grant: GrantWithAgent, realNowMs: number): boolean {
  const { revokedAtMs, expiresAtMs, agentId, agentStatus } = grant
  return (
    revokedAtMs === null &&
    (expiresAtMs === null || realNowMs < expiresAtMs) &&
    (agentId === null || agentStatus === 'ACTIVE')
  )
}

export const insertGrant = inserting('oauthGrants')

/** Saves the properties that change while a grant is live. */
export async function updateGrant(
  tx: Transaction,
  id: string,
  change: Partial<Pick<OAuthGrantRow, 'scopes' | 'payload' | 'expiresAtMs' | 'clientName'>>,
): Promise<void> {
  await tx.db.updateTable('oauthGrants').set(change).where('id', '=', id).execute()
}

export async function revokeGrant(tx: Transaction, id: string, nowMs: number): Promise<void> {
  await tx.db
    .updateTable('oauthGrants')
    .set({ revokedAtMs: nowMs })
    .where('id', '=', id)
    .where('revokedAtMs', 'is', null)
    .execute()
}

/** Revokes every grant that a user gave. */
export async function revokeGrantsOfUser(tx: Transaction, userId: string, nowMs: number): Promise<void> {
  await tx.db
    .updateTable('oauthGrants')
    .set({ revokedAtMs: nowMs })
    .where('userId', '=', userId)
    .where('revokedAtMs', 'is', null)
    .execute()
}

export async function noteGrantUse(tx: Transaction, id: string, usedAtMs: number): Promise<void> {
  await noteUse(tx, { id, usedAtMs })
}

const noteUse = writing((db, { id, usedAtMs }: { id: string; usedAtMs: number }) =>
  db.updateTable('oauthGrants').set({ lastUsedAtMs: usedAtMs }).where('id', '=', id),
)

/** More than a person can look through; only the newest are returned. */
const mostGrants = 200

/** Returns a user's working grants, newest first, optionally those of one application. */
export async function liveGrants(
  tx: Transaction,
  userId: string,
  realNowMs: number,
  clientId?: string,
): Promise<GrantWithAgent[]> {
  let query = tx.db
    .selectFrom('oauthGrants')
    .leftJoin('agents', (join) =>
      join.onRef('agents.partyId', '=', 'oauthGrants.partyId').onRef('agents.id', '=', 'oauthGrants.agentId'),
    )
    .selectAll('oauthGrants')
    .select('agents.status as agentStatus')
    .where('oauthGrants.userId', '=', userId)
    .where('oauthGrants.revokedAtMs', 'is', null)
  if (clientId !== undefined) query = query.where('oauthGrants.clientId', '=', clientId)
  const rows = await query.orderBy('oauthGrants.id', 'desc').limit(mostGrants).execute()
  return rows.filter((row) => grantIsLive(row, realNowMs))
}

/** Selects the grants that a user gave, to filter another table. */
export function grantsOfUser(userId: string) {
  const grants = expressionBuilder<Tables>().selectFrom('oauthGrants').select('oauthGrants.id')
  return grants.where('oauthGrants.userId', '=', userId)
}

/** Selects the grants to the application that a column of another table names, to filter that table. */
export function grantsToClient(column: 'oauthRecords.uid') {
  const grants = expressionBuilder<Tables>().selectFrom('oauthGrants').select('oauthGrants.id')
  return grants.where('oauthGrants.clientId', '=', sql.ref<string>(column))
}
