import { preparedInsert } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import { insertGrant, revokeGrantsOfUser } from './oauth-grants.ts'
import { deleteRecordsOfGrant } from './oauth-records.ts'
import type { OAuthGrantRow } from './schema/oauth-grants.ts'
import type { TrustedIssuerRow } from './schema/trusted-issuers.ts'

export const insertIssuer = preparedInsert('trustedIssuers')

/**
 * Finds a trusted issuer by party and id, or by the OAuth client that presents the issuer's assertions. Also finds
 * revoked issuers.
 */
export function findIssuer(
  tx: Transaction,
  by: { partyId: string; id: string } | { clientId: string },
): Promise<TrustedIssuerRow | undefined> {
  const all = tx.db.selectFrom('trustedIssuers').selectAll()
  const query =
    'id' in by ? all.where('partyId', '=', by.partyId).where('id', '=', by.id) : all.where('clientId', '=', by.clientId)
  return query.executeTakeFirst()
}

export function listIssuers(tx: Transaction, partyId: string, page: PageRequest): Promise<PageOf<TrustedIssuerRow>> {
  return readPage(tx.db.selectFrom('trustedIssuers').selectAll().where('partyId', '=', partyId), page)
}

/** Returns a party's issuers that have not been revoked, newest first. */
export function liveIssuers(tx: Transaction, partyId: string, limit: number): Promise<TrustedIssuerRow[]> {
  return tx.db
    .selectFrom('trustedIssuers')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('revokedAtMs', 'is', null)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

/** Changes a trusted issuer, and revokes all grants that were made for the issuer's assertions. */
export async function changeIssuer(
  tx: Transaction,
  { partyId, id }: Pick<TrustedIssuerRow, 'partyId' | 'id'>,
  change: Partial<Pick<TrustedIssuerRow, 'jwksUri' | 'agents' | 'scopes' | 'revokedAtMs'>>,
  nowMs: number,
): Promise<void> {
  await tx.db.updateTable('trustedIssuers').set(change).where('partyId', '=', partyId).where('id', '=', id).execute()
  await revokeGrantsOfUser(tx, id, nowMs)
}

/** Revokes a trusted issuer and its grants, and deletes the OAuth client that presented the issuer's assertions. */
export async function revokeIssuer(
  tx: Transaction,
  issuer: Pick<TrustedIssuerRow, 'partyId' | 'id'>,
  nowMs: number,
): Promise<void> {
  await changeIssuer(tx, issuer, { revokedAtMs: nowMs }, nowMs)
  // The record of the OAuth client has the issuer's id as its `grantId`.
  await deleteRecordsOfGrant(tx, issuer.id)
}

/**
 * Inserts a grant to act as one agent. If the claims of an assertion from the trusted issuer match this agent, the
 * token issued for the assertion belongs to this grant.
 */
export function insertIssuerGrant(
  tx: Transaction,
  issuer: TrustedIssuerRow,
  grant: Pick<OAuthGrantRow, 'id' | 'agentId' | 'createdAtMs'>,
) {
  const { id: userId, partyId, clientId, name: clientName, scopes } = issuer
  const unused = { lastUsedAtMs: null, revokedAtMs: null, expiresAtMs: null }
  return insertGrant(tx, { ...grant, ...unused, userId, partyId, clientId, clientName, scopes, payload: '{}' })
}
