import { newId, type System } from '../../core/system.ts'
import { expireUnusedCards } from './agent-cards.ts'
import { preparedInsert } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import { findParties, findPartiesOfRecipients } from './parties.ts'
import type { DelegationRow } from './schema/delegations.ts'
import type { PartyRow } from './schema/parties.ts'

/**
 * Creates a customer's grant to an agent. If the customer has already made a grant to this agent, that grant gets the
 * new terms and becomes active.
 */
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
    .where('customerPartyId', '=', before.customerPartyId)
    .where('id', '=', before.id)
    .execute()
  const after = { ...before, permissions, limits, status: 'ACTIVE', revokedAtMs: null } as const
  if (before.status !== 'ACTIVE') recordCustomerEvents(tx, after, 'delegation.activated', nowMs)
}

function recordCustomerEvents(
  tx: Transaction,
  grant: DelegationRow,
  type: 'delegation.activated' | 'delegation.revoked',
  nowMs: number,
): void {
  recordEvents(tx, { ...grant, partyId: grant.customerPartyId }, [type], nowMs)
}

/**
 * Revokes the active grants to a party's agents. The filter can select only the grants from one customer, only the
 * grants to one agent, or only the grant from one customer to one agent. Also expires the unused cards that were issued
 * under the revoked grants.
 */
export async function revokeDelegations(
  tx: Transaction,
  filter: { agentPartyId: string; customerPartyId?: string; agentId?: string },
  nowMs: number,
): Promise<void> {
  const activeGrants = tx.db.selectFrom('delegations').where((row) => {
    const { agentPartyId, customerPartyId, agentId } = filter
    const conditions = { agentPartyId, customerPartyId, agentId, status: 'ACTIVE' as const }
    return row.and(Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined)))
  })
  for (const { agentId } of await activeGrants.select('agentId').distinct().execute()) {
    const partyIds = activeGrants.select('customerPartyId').where('agentId', '=', agentId)
    await expireUnusedCards(tx, { agentId, partyIds }, nowMs)
  }
  const ended = await tx.db
    .updateTable('delegations')
    .set({ status: 'REVOKED', revokedAtMs: nowMs })
    .where('id', 'in', activeGrants.select('id'))
    .returningAll()
    .execute()
  for (const grant of ended) {
    recordCustomerEvents(tx, grant, 'delegation.revoked', nowMs)
    recordEvents(tx, { ...grant, partyId: grant.agentPartyId }, ['agent_delegation.revoked'], nowMs)
  }
}

/**
 * Finds the parties that have one of the given email addresses, phone numbers or ids. Returns only parties that are or
 * were customers in the scope. A caller with this scope may see their names, but not the names of other recipients.
 */
export async function customersAmong(
  tx: Transaction,
  scope: { partyId: string; agentId: string | null },
  recipients: readonly string[],
): Promise<PartyRow[]> {
  if (recipients.length === 0) return []
  const parties = await findPartiesOfRecipients(tx, recipients)
  if (parties.length === 0) return []
  const ids = parties.map(({ id }) => id)
  const customers = delegationsInScope(tx, { ...scope, status: statuses.all }).where('customerPartyId', 'in', ids)
  const found = new Set((await customers.select('customerPartyId').execute()).map((row) => row.customerPartyId))
  return parties.filter(({ id }) => found.has(id))
}

/** A grant to an agent, with the customer's name and email address, which the agent may see. */
export interface AgentGrant extends DelegationRow {
  customerName: string
  customerEmail: string | null
}

/** Returns the grants to an agent, newest first, including those that are no longer active. */
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

/** Finds a customer's grant to an agent, regardless of the grant's status. */
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

/**
 * Returns whether a customer's grant to the agent `agentId` is active. If `agentId` is null, a grant to any of the
 * party's agents counts.
 */
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

export async function createDelegation(tx: Transaction, row: DelegationRow): Promise<void> {
  await insert(tx, row)
  if (row.status === 'ACTIVE') recordCustomerEvents(tx, row, 'delegation.activated', row.createdAtMs)
}

const insert = preparedInsert('delegations')

/**
 * The customers to return: all customers of a party, or only those of one agent if `agentId` is set. Only grants with
 * the given `status` count.
 */
export interface CustomerScope {
  partyId: string
  agentId: string | null
  status: 'active' | 'revoked' | 'all'
}

/** A customer, and the customer's grants in the scope, oldest grant first. */
export interface CustomerRecord {
  party: PartyRow
  delegations: (DelegationRow & { agentName: string; agentHandle: string | null })[]
}

export async function listCustomers(
  tx: Transaction,
  scope: CustomerScope,
  { limit, beforeId }: PageRequest,
): Promise<PageOf<CustomerRecord>> {
  // Reads each status separately, so that each read can use an index. A customer whose grants have different statuses
  // is found several times, so the code below removes duplicates.
  const found = await Promise.all(
    statusesOf(scope).map((status) => {
      const ids = delegationsInScope(tx, { ...scope, status })
        .select('customerPartyId as id')
        .distinct()
      return readPage(ids, { limit: limit + 1, beforeId }, 'customerPartyId')
    }),
  )
  const ids = new Set(found.flatMap(({ rows }) => rows.map(({ id }) => id)))
  const first = [...ids].sort((a, b) => (a < b ? 1 : -1)).slice(0, limit + 1)
  const { rows: customerIds, lastId } = pageOf(first, limit, (id) => id)
  return { rows: customerIds.length === 0 ? [] : await customerRecords(tx, scope, customerIds), lastId }
}

/** Returns one customer; undefined if the customer has no grant in the scope. */
export async function findCustomer(
  tx: Transaction,
  scope: CustomerScope,
  customerPartyId: string,
): Promise<CustomerRecord | undefined> {
  const [record] = await customerRecords(tx, scope, [customerPartyId])
  return record
}

async function customerRecords(
  tx: Transaction,
  scope: CustomerScope,
  customerIds: readonly string[],
): Promise<CustomerRecord[]> {
  const grants = delegationsInScope(tx, { ...scope, status: statusesOf(scope) })
    .innerJoin('agents', (join) =>
      join.onRef('agents.partyId', '=', 'delegations.agentPartyId').onRef('agents.id', '=', 'delegations.agentId'),
    )
    .selectAll('delegations')
    .select(['agents.name as agentName', 'agents.handle as agentHandle'])
    .where('customerPartyId', 'in', customerIds)
  const [parties, delegations] = await Promise.all([findParties(tx, customerIds), grants.execute()])
  return customerIds.flatMap((id) => {
    // The grants are sorted here, because an `order by` in the query would make the database scan all grants in id
    // order instead of reading only the grants of these customers.
    const ofCustomer = delegations.filter((row) => row.customerPartyId === id).sort((a, b) => (a.id < b.id ? -1 : 1))
    if (ofCustomer.length === 0) return []
    const party = parties.find((row) => row.id === id)
    if (party === undefined) throw new Error(`Bug: there is no party for the customer ${id}.`)
    return [{ party, delegations: ofCustomer }]
  })
}

type Status = DelegationRow['status']

const statusesOf = ({ status }: CustomerScope): readonly Status[] => statuses[status]

const ended = ['REVOKED', 'EXPIRED', 'SUSPENDED'] as const
const statuses = { active: ['ACTIVE'], revoked: ended, all: ['ACTIVE', ...ended] } as const

function delegationsInScope(
  tx: Transaction,
  { partyId, agentId, status }: Omit<CustomerScope, 'status'> & { status: Status | readonly Status[] },
) {
  const all = tx.db.selectFrom('delegations').where('delegations.status', 'in', [status].flat())
  // An agent belongs to only one party, so filtering by the agent's id is enough.
  return agentId === null ? all.where('agentPartyId', '=', partyId) : all.where('agentId', '=', agentId)
}
