import type { Kysely } from 'kysely'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow, CredentialRow, DelegationRow, PartyRow, Tables } from './schema/tables.ts'

export async function findParty(tx: Transaction, id: string): Promise<PartyRow | undefined> {
  return (await partyById(tx, { id })).rows[0]
}

const partyById = prepared((db, by: { id: string }) => db.selectFrom('parties').selectAll().where('id', '=', by.id))

/** The credential with that hash or id, with the status of the agent it acts as. */
export async function findCredential(
  tx: Transaction,
  by: { secretHash: string } | { id: string },
): Promise<(CredentialRow & { agentStatus: AgentRow['status'] | null }) | undefined> {
  return (await ('id' in by ? credentialById(tx, by) : credentialByHash(tx, by))).rows[0]
}

const credentialById = prepared((db, by: { id: string }) => credentials(db).where('credentials.id', '=', by.id))

const credentialByHash = prepared((db, by: { secretHash: string }) =>
  credentials(db).where('secretHash', '=', by.secretHash),
)

function credentials(db: Kysely<Tables>) {
  return db
    .selectFrom('credentials')
    .leftJoin('agents', 'agents.id', 'credentials.agentId')
    .selectAll('credentials')
    .select('agents.status as agentStatus')
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
  let ids = delegationsInScope(tx, scope).select('customerPartyId').distinct()
  if (page.beforeId !== null) ids = ids.where('customerPartyId', '<', page.beforeId)
  const found = await ids
    .orderBy('customerPartyId', 'desc')
    .limit(page.limit + 1)
    .execute()
  const { rows, lastId } = pageOf(found, page.limit, (row) => row.customerPartyId)
  if (rows.length === 0) return { rows: [], lastId }
  const customerIds = rows.map((row) => row.customerPartyId)
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
  const parties = await tx.db.selectFrom('parties').selectAll().where('id', 'in', customerIds).execute()
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
