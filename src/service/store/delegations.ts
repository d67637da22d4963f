import { newId, type System } from '../../core/system.ts'
import { expireUnusedCards } from './agent-cards.ts'
import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { findParties } from './parties.ts'
import type { DelegationRow } from './schema/delegations.ts'
import type { PartyRow } from './schema/parties.ts'

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

/** The recipients that are or were customers in the scope: their names are no secret there. */
export async function customersAmong(
  tx: Transaction,
  scope: { partyId: string; agentId: string | null },
  recipients: readonly string[],
): Promise<PartyRow[]> {
  if (recipients.length === 0) return []
  let customers = tx.db
    .selectFrom('delegations')
    .innerJoin('parties', 'parties.id', 'delegations.customerPartyId')
    .selectAll('parties')
    .distinct()
    .where('delegations.agentPartyId', '=', scope.partyId)
  if (scope.agentId !== null) customers = customers.where('delegations.agentId', '=', scope.agentId)
  return customers
    .where((row) =>
      row.or(
        (['parties.email', 'parties.phone', 'parties.id'] as const).map((column) => row(column, 'in', recipients)),
      ),
    )
    .orderBy('parties.id')
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
  const query = grants(tx, agentId)
  return readPage(query, page, 'delegations.id')
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

/** A customer's grant to an agent, whatever its status. */
export async function findDelegation(
  tx: Transaction,
  agentId: string,
  customerPartyId: string,
): Promise<DelegationRow | undefined> {
  return (await delegation(tx, { agentId, customerPartyId })).rows[0]
}

const delegation = prepared((db, by: { agentId: string; customerPartyId: string }) =>
  db
    .selectFrom('delegations')
    .selectAll()
    .where('agentId', '=', by.agentId)
    .where('customerPartyId', '=', by.customerPartyId),
)

/** Whether a customer's grant to an agent is in force: to this one, or for a party to any of its own. */
export async function isConnected(
  tx: Transaction,
  to: { partyId: string; agentId: string | null },
  customerPartyId: string,
): Promise<boolean> {
  const { rows } = await grantsOf(tx, { partyId: to.partyId, customerPartyId })
  return rows.some(({ agentId }) => to.agentId === null || to.agentId === agentId)
}

const grantsOf = prepared((db, by: { partyId: string; customerPartyId: string }) =>
  db
    .selectFrom('delegations')
    .select('agentId')
    .where('agentPartyId', '=', by.partyId)
    .where('customerPartyId', '=', by.customerPartyId)
    .where('status', '=', 'ACTIVE'),
)

export const createDelegation = inserting('delegations')

/** Whose customers are meant: a party's, for an agent only those that granted something to it. */
export interface CustomerScope {
  partyId: string
  agentId: string | null
  status: 'active' | 'revoked' | 'all'
}

/** A connected party with its grants to the agents in the scope, the oldest first. */
export interface CustomerRecord {
  party: PartyRow
  delegations: (DelegationRow & { agentName: string; agentHandle: string | null })[]
}

export async function listCustomers(
  tx: Transaction,
  scope: CustomerScope,
  page: PageRequest,
): Promise<PageOf<CustomerRecord>> {
  const ids = delegationsInScope(tx, scope).select('customerPartyId as id').distinct()
  const { rows, lastId } = await readPage(ids, page, 'customerPartyId')
  if (rows.length === 0) return { rows: [], lastId }
  const customerIds = rows.map(({ id }) => id)
  return { rows: await customerRecords(tx, scope, customerIds), lastId }
}

/** One connected party, undefined when it has no grant in the scope. */
export async function findCustomer(
  tx: Transaction,
  scope: CustomerScope,
  customerPartyId: string,
): Promise<CustomerRecord | undefined> {
  const ids = delegationsInScope(tx, scope).select('customerPartyId').where('customerPartyId', '=', customerPartyId)
  const found = await ids.limit(1).execute()
  return found.length === 0 ? undefined : (await customerRecords(tx, scope, [customerPartyId]))[0]
}

async function customerRecords(
  tx: Transaction,
  scope: CustomerScope,
  customerIds: readonly string[],
): Promise<CustomerRecord[]> {
  const parties = await findParties(tx, customerIds)
  const delegations = await delegationsInScope(tx, scope)
    .innerJoin('agents', 'agents.id', 'delegations.agentId')
    .selectAll('delegations')
    .select(['agents.name as agentName', 'agents.handle as agentHandle'])
    .where('customerPartyId', 'in', customerIds)
    .orderBy('delegations.id')
    .execute()
  return customerIds.map((id) => {
    const party = parties.find((row) => row.id === id)
    if (party === undefined) throw new Error(`Bug: the customer ${id} is no party.`)
    return { party, delegations: delegations.filter((row) => row.customerPartyId === id) }
  })
}

function delegationsInScope(tx: Transaction, scope: CustomerScope) {
  let query = tx.db.selectFrom('delegations').where('agentPartyId', '=', scope.partyId)
  if (scope.agentId !== null) query = query.where('agentId', '=', scope.agentId)
  if (scope.status === 'active') query = query.where('delegations.status', '=', 'ACTIVE')
  if (scope.status === 'revoked') query = query.where('delegations.status', '!=', 'ACTIVE')
  return query
}
