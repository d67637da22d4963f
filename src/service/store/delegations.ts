import { newId, type System } from '../../core/system.ts'
import type { Recipient } from '../rules/customer-invitations.ts'
import { expireUnusedCards } from './agent-cards.ts'
import { findPartyByAddress } from './counterparties.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import { findDelegation, findParty } from './parties.ts'
import { createDelegation } from './provision.ts'
import type { DelegationRow, PartyRow } from './schema/tables.ts'

/** The party that a recipient is; undefined for somebody who has none yet. */
export async function partyOfRecipient(tx: Transaction, { type, value }: Recipient): Promise<PartyRow | undefined> {
  return type === 'party_id' ? findParty(tx, value) : findPartyByAddress(tx, type, value)
}

/** A customer's grant to an agent: a new one, or the one there was with what it allows now. */
export async function grant(
  tx: Transaction,
  system: System,
  terms: Pick<DelegationRow, 'customerPartyId' | 'agentPartyId' | 'agentId' | 'permissions' | 'limits'>,
  nowMs: number,
): Promise<void> {
  const before = await findDelegation(tx, terms.agentId, terms.customerPartyId)
  const { permissions, limits } = terms
  if (before === undefined) {
    const state = { status: 'ACTIVE', createdAtMs: nowMs, revokedAtMs: null } as const
    await createDelegation(tx, { id: newId('dlg', system, nowMs), ...terms, ...state })
    return
  }
  await tx.db
    .updateTable('delegations')
    .set({ permissions, limits, status: 'ACTIVE', revokedAtMs: null })
    .where('id', '=', before.id)
    .execute()
}

/**
 * Ends what was granted by a customer, to an agent, or both, and the cards that were issued by it; what has ended before
 * stays as it is.
 */
export async function revokeDelegations(
  tx: Transaction,
  which: { agentPartyId: string; customerPartyId?: string; agentId?: string },
  nowMs: number,
): Promise<void> {
  const ending = tx.db.selectFrom('delegations').where((row) => {
    const { agentPartyId, customerPartyId, agentId } = which
    const named = { agentPartyId, customerPartyId, agentId, status: 'ACTIVE' as const }
    return row.and(Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)))
  })
  for (const { agentId } of await ending.select('agentId').distinct().execute()) {
    const partyIds = ending.select('customerPartyId').where('agentId', '=', agentId)
    await expireUnusedCards(tx, { agentId, partyIds }, nowMs)
  }
  await tx.db
    .updateTable('delegations')
    .set({ status: 'REVOKED', revokedAtMs: nowMs })
    .where('id', 'in', ending.select('id'))
    .execute()
}

/** Those of the recipients that are or were customers in the scope, to whom their name is no secret. */
export async function customersAmong(
  tx: Transaction,
  scope: { partyId: string; agentId: string | null },
  recipients: readonly string[],
): Promise<PartyRow[]> {
  if (recipients.length === 0) return []
  let known = tx.db.selectFrom('delegations').select('customerPartyId').where('agentPartyId', '=', scope.partyId)
  if (scope.agentId !== null) known = known.where('agentId', '=', scope.agentId)
  return tx.db
    .selectFrom('parties')
    .selectAll()
    .where('id', 'in', known)
    .where((row) =>
      row.or([row('email', 'in', recipients), row('phone', 'in', recipients), row('id', 'in', recipients)]),
    )
    .orderBy('id')
    .execute()
}

/** A grant to an agent, with what it may know of who gave it. */
export interface AgentGrant extends DelegationRow {
  customerName: string
  customerEmail: string | null
}

/** The grants to an agent, newest first, also those that ended. */
export async function listAgentGrants(
  tx: Transaction,
  agentId: string,
  page: PageRequest,
): Promise<PageOf<AgentGrant>> {
  let query = grants(tx, agentId)
  if (page.beforeId !== null) query = query.where('delegations.id', '<', page.beforeId)
  const rows = await query
    .orderBy('delegations.id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

export async function findAgentGrant(
  tx: Transaction,
  agentId: string,
  customerPartyId: string,
): Promise<AgentGrant | undefined> {
  return grants(tx, agentId).where('customerPartyId', '=', customerPartyId).executeTakeFirst()
}

function grants(tx: Transaction, agentId: string) {
  return tx.db
    .selectFrom('delegations')
    .innerJoin('parties', 'parties.id', 'delegations.customerPartyId')
    .selectAll('delegations')
    .select(['parties.displayName as customerName', 'parties.email as customerEmail'])
    .where('delegations.agentId', '=', agentId)
}
