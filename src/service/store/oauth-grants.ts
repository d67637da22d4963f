import { expressionBuilder, type SqlBool, sql } from 'kysely'
import { preparedInsert } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { OAuthGrantRow } from './schema/oauth-grants.ts'
import type { Tables } from './schema/tables.ts'

/** A grant with the status of its agent. The status is needed because the grant ends when the agent is revoked. */
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

/**
 * Returns whether a grant still works.
 * @param realNowMs The current real time, because grants expire by the real clock.
 */
export function grantIsLive(grant: GrantWithAgent, realNowMs: number): boolean {
  const { revokedAtMs, expiresAtMs, agentId, agentStatus } = grant
  return (
    revokedAtMs === null &&
    (expiresAtMs === null || realNowMs < expiresAtMs) &&
    (agentId === null || agentStatus === 'ACTIVE')
  )
}

export const insertGrant = preparedInsert('oauthGrants')

/** Updates the properties that can change while a grant is live. */
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

const noteUse = preparedWrite((db, { id, usedAtMs }: { id: string; usedAtMs: number }) =>
  db.updateTable('oauthGrants').set({ lastUsedAtMs: usedAtMs }).where('id', '=', id),
)

/** The maximum number of grants in one list. If there are more grants, the list contains the newest. */
const maxGrants = 200

/** Returns a user's live grants, newest first. If `clientId` is given, returns only the grants to that client. */
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
  const rows = await query.orderBy('oauthGrants.id', 'desc').limit(maxGrants).execute()
  return rows.filter((row) => grantIsLive(row, realNowMs))
}

/** Returns a subquery that selects the ids of all grants that a user gave. */
export function grantsOfUser(userId: string) {
  const grants = expressionBuilder<Tables>().selectFrom('oauthGrants').select('oauthGrants.id')
  return grants.where('oauthGrants.userId', '=', userId)
}

/**
 * Returns a subquery that selects the ids of all grants to a client. The client's id is in `column` of the outer query.
 */
export function grantsToClient(column: 'oauthRecords.uid') {
  const grants = expressionBuilder<Tables>().selectFrom('oauthGrants').select('oauthGrants.id')
  return grants.where('oauthGrants.clientId', '=', sql.ref<string>(column))
}

/** The prefix of an application's client id. Other client ids are generated or are URLs, and never begin with it. */
const applicationPrefix = 'oap_'

/** Returns whether the client is an application that a party registered. */
export function isApplication({ clientId }: { clientId: string }): boolean {
  return clientId.startsWith(applicationPrefix)
}

/** Finds an application's grant by its party and id. If the party is not known yet, finds it by the client's id. */
export async function findApplication(
  tx: Transaction,
  by: { partyId: string; id: string } | { clientId: string },
): Promise<OAuthGrantRow | undefined> {
  const found = applications(tx)
  const query =
    'id' in by
      ? found.where('partyId', '=', by.partyId).where('id', '=', by.id)
      : found.where('clientId', '=', by.clientId)
  return query.executeTakeFirst()
}

export function listApplications(tx: Transaction, partyId: string, page: PageRequest): Promise<PageOf<OAuthGrantRow>> {
  return readPage(applications(tx).where('partyId', '=', partyId), page)
}

/** Returns the live grants of a party's applications, newest first. */
export async function liveApplications(tx: Transaction, partyId: string, realNowMs: number): Promise<GrantWithAgent[]> {
  const ids = applications(tx)
    .clearSelect()
    .select('id')
    .where('partyId', '=', partyId)
    .where('revokedAtMs', 'is', null)
  const found = await ids.orderBy('id', 'desc').limit(maxGrants).execute()
  const grants = await Promise.all(found.map(({ id }) => findGrant(tx, id)))
  return grants.filter((grant) => grant !== undefined).filter((grant) => grantIsLive(grant, realNowMs))
}

/** Revokes the applications of an agent that is deleted. */
export const revokeApplicationsOfAgent = preparedWrite(
  (db, { nowMs, ...agent }: { partyId: string; agentId: string; nowMs: number }) =>
    db
      .updateTable('oauthGrants')
      .set({ revokedAtMs: nowMs })
      .where('id', 'in', applicationsOfAgent(agent))
      .where('revokedAtMs', 'is', null),
)

/** Returns a subquery that selects the ids of an agent's applications. */
export function applicationsOfAgent({ partyId, agentId }: { partyId: string; agentId: string }) {
  const grants = expressionBuilder<Tables>().selectFrom('oauthGrants').select('oauthGrants.id')
  return grants.where(isApplicationRow).where('partyId', '=', partyId).where('agentId', '=', agentId)
}

/** The condition for the rows of applications. An application's grant has no user. */
const isApplicationRow = sql<SqlBool>`"userId" = "clientId"`

function applications(tx: Transaction) {
  return tx.db.selectFrom('oauthGrants').selectAll().where(isApplicationRow)
}
