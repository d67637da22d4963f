import { type Kysely, sql } from 'kysely'
import { invitationStatuses } from '../../../tools/customer-invitations.ts'
import {
  applyToInvitation,
  type InvitationEvent,
  type InvitationState,
  type InvitationStatus,
  type Recipient,
} from '../rules/customer-invitations.ts'
import { invitationEvent } from '../rules/events.ts'
import { findAgent } from './agents.ts'
import type { DueOf, Moments } from './clock.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { AgentRow } from './schema/agents.ts'
import type { CustomerInvitationRow } from './schema/customer-invitations.ts'
import type { Tables } from './schema/tables.ts'

/** An invitation, the name of the developer who sent it, and the name, handle and status of the invitation's agent. */
export interface InvitationRecord extends CustomerInvitationRow {
  developerName: string
  agentName: string
  agentHandle: string | null
  agentStatus: 'ACTIVE' | 'REVOKED'
}

/**
 * The invitations that a caller may see: all invitations from a party, or only those for one agent if `agentId` is set.
 */
export interface InvitationScope {
  partyId: string
  agentId: string | null
}

export async function insertInvitation(tx: Transaction, row: CustomerInvitationRow): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, row, [invitationEvent(row.status)], row.createdAtMs)
}

const insert = preparedInsert('customerInvitations')

export async function findInvitation(
  tx: Transaction,
  scope: InvitationScope,
  id: string,
): Promise<InvitationRecord | undefined> {
  const [row] = (await invitationOf(tx, { id, partyId: scope.partyId })).rows
  return scope.agentId === null || row?.agentId === scope.agentId ? row : undefined
}

const invitationOf = prepared((db, by: { id: string; partyId: string }) =>
  records(db).where('customerInvitations.id', '=', by.id).where('customerInvitations.partyId', '=', by.partyId),
)

/** Finds a party's invitations by their ids. */
export function findInvitations(
  { db }: Transaction,
  { partyId, ids }: { partyId: string; ids: readonly string[] },
): Promise<InvitationRecord[]> {
  const all = records(db).where('customerInvitations.partyId', '=', partyId)
  return all.where('customerInvitations.id', 'in', ids).execute()
}

/**
 * Finds an invitation from any party by the hash of the token in the URL of the invitation's page. Only the invited
 * person has this token.
 */
export async function findInvitationByToken(tx: Transaction, tokenHash: string): Promise<InvitationRecord | undefined> {
  return (await invitationOfToken(tx, { tokenHash })).rows[0]
}

const invitationOfToken = prepared((db, by: { tokenHash: string }) =>
  records(db).where('customerInvitations.tokenHash', '=', by.tokenHash),
)

function records(db: Kysely<Tables>) {
  return db
    .selectFrom('customerInvitations')
    .innerJoin('parties', 'parties.id', 'customerInvitations.partyId')
    .innerJoin('agents', (join) =>
      join
        .onRef('agents.partyId', '=', 'customerInvitations.partyId')
        .onRef('agents.id', '=', 'customerInvitations.agentId'),
    )
    .selectAll('customerInvitations')
    .select([
      'parties.displayName as developerName',
      'agents.name as agentName',
      'agents.handle as agentHandle',
      'agents.status as agentStatus',
    ])
}

/** The agent and the run that canceled an invitation. */
export interface InvitationCause {
  agentId: string | null
  instanceId: string | null
}

/** Applies an event to an invitation. @throws 409 `conflict` if the invitation is not pending. */
export async function changeInvitation<Row extends CustomerInvitationRow>(
  tx: Transaction,
  before: Row,
  event: InvitationEvent,
  nowMs: number,
  by: { cause?: InvitationCause; customerPartyId?: string } = {},
): Promise<Row> {
  const state = applyToInvitation(before, event, nowMs)
  const canceled = state.status === 'CANCELED' ? by.cause : undefined
  const { partyId, id, version } = before
  const rest = {
    ...state,
    customerPartyId: by.customerPartyId ?? before.customerPartyId,
    canceledByAgentId: canceled?.agentId ?? null,
    canceledInstanceId: canceled?.instanceId ?? null,
  }
  await update(tx, { ...rest, partyId, id, version, nextVersion: version + 1 })
  const after = { ...before, ...rest, version: version + 1 }
  recordEvents(tx, after, [invitationEvent(state.status)], nowMs)
  return after
}

type Update = InvitationState &
  Pick<
    CustomerInvitationRow,
    'partyId' | 'id' | 'version' | 'customerPartyId' | 'canceledByAgentId' | 'canceledInstanceId'
  > & { nextVersion: number }

const update = changingOne(
  (db, { partyId, id, version, nextVersion, ...row }: Update) =>
    db
      .updateTable('customerInvitations')
      .set({ ...row, version: nextVersion })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `invitation ${id}`,
)

/** Selects the pending invitations, with the times at which they expire. */
export const invitationExpiries: Moments = (db, partyId) => {
  const all = db
    .selectFrom('customerInvitations')
    .select(['id', 'partyId', 'pendingUntilMs as atMs'])
    .where('pendingUntilMs', 'is not', null)
  return partyId === undefined ? all : all.where('partyId', '=', partyId)
}

/** Returns a party's pending invitations that are past their expiry, the most overdue first. */
export async function expiredInvitations(tx: Transaction, due: DueOf): Promise<CustomerInvitationRow[]> {
  return (await expired(tx, due)).rows
}

const expired = prepared((db, by: DueOf) =>
  db
    .selectFrom('customerInvitations')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('pendingUntilMs', '<=', by.nowMs)
    .orderBy('pendingUntilMs')
    .orderBy('id')
    .limit(by.limit),
)

/** Cancels the pending invitations of an agent that is being deleted. */
export async function cancelInvitationsOfAgent(
  tx: Transaction,
  agent: Pick<AgentRow, 'partyId' | 'id'>,
  nowMs: number,
  cause?: InvitationCause,
): Promise<void> {
  const rows = await pending(tx, agent).execute()
  for (const row of rows) await changeInvitation(tx, row, 'agent_retired', nowMs, cause === undefined ? {} : { cause })
}

/** Cancels all pending invitations from a party that may no longer invite anyone. */
export async function cancelInvitationsOfParty(tx: Transaction, partyId: string, nowMs: number): Promise<void> {
  const rows = await pendingOf(tx).where('partyId', '=', partyId).execute()
  for (const row of rows) await changeInvitation(tx, row, 'developer_retired', nowMs)
}

/** Cancels an agent's pending invitations to a customer who has just connected with the agent in another way. */
export async function cancelConnectedInvitations(
  tx: Transaction,
  agent: Pick<AgentRow, 'partyId' | 'id'>,
  recipients: readonly Recipient[],
  nowMs: number,
): Promise<void> {
  const values = recipients.map(({ value }) => value)
  const rows = await pending(tx, agent).where('recipient', 'in', values).execute()
  for (const row of rows) await changeInvitation(tx, row, 'connected', nowMs)
}

function pending(tx: Transaction, { partyId, id: agentId }: Pick<AgentRow, 'partyId' | 'id'>) {
  return pendingOf(tx).where('partyId', '=', partyId).where('agentId', '=', agentId)
}

function pendingOf(tx: Transaction) {
  return tx.db.selectFrom('customerInvitations').selectAll().where('status', '=', 'PENDING').orderBy('id')
}

/** Returns the invitations that are in the scope and match the filter, newest first. */
export async function listInvitations(
  tx: Transaction,
  scope: InvitationScope,
  filter: { statuses: readonly InvitationStatus[]; recipient: string | undefined; agentId: string | undefined },
  page: PageRequest,
): Promise<PageOf<InvitationRecord>> {
  const agents = [scope.agentId, filter.agentId].filter((id) => typeof id === 'string')
  const [agentId, another] = [...new Set(agents)]
  if (another !== undefined) return { rows: [], lastId: null }
  // The search below filters only by the agent's id, so this code must check that the agent belongs to the party.
  if (filter.agentId !== undefined && (await findAgent(tx, scope.partyId, filter.agentId)) === undefined) {
    return { rows: [], lastId: null }
  }
  const branches = combinations({
    ...(agentId === undefined ? { partyId: [scope.partyId] } : { agentId: [agentId] }),
    ...(filter.recipient === undefined ? {} : { recipient: [filter.recipient] }),
    status: filter.statuses.length === 0 ? invitationStatuses : [...new Set(filter.statuses)],
  })
  // Invitations can be filtered only by email address. The column `recipient` also contains phone numbers and party
  // ids, but a filter with one of them finds nothing.
  return walk(
    tx,
    filter.recipient?.includes('@') === false ? [] : (branches as Partial<CustomerInvitationRow>[]),
    page,
    scope.partyId,
  )
}

const walk = createIndexWalk('customerInvitations', (db) => records(db))

/** Returns an agent's invitations that were not accepted, newest first. */
export async function listUnacceptedInvitations(
  tx: Transaction,
  agent: Pick<AgentRow, 'partyId' | 'id'>,
  page: PageRequest,
): Promise<PageOf<InvitationRecord>> {
  const unaccepted = invitationStatuses.filter((status) => status !== 'ACCEPTED')
  return walk(tx, combinations({ agentId: [agent.id], status: unaccepted }), page, agent.partyId)
}

/** The pending invitations to one recipient, oldest first. */
export type InvitationGroup = InvitationRecord[]

/**
 * Returns the pending invitations in the scope, grouped by recipient. The groups are sorted by the creation time of
 * each group's oldest invitation, latest time first.
 */
export async function listInvitationGroups(
  tx: Transaction,
  scope: InvitationScope,
  page: PageRequest,
): Promise<PageOf<InvitationGroup>> {
  const { partyId, agentId } = scope
  const sender =
    agentId === null ? ({ column: 'partyId', id: partyId } as const) : ({ column: 'agentId', id: agentId } as const)
  const pendingOf = (name: 'one' | 'older') =>
    tx.db
      .selectFrom(`customerInvitations as ${name}` as const)
      .where(sql.ref(`${name}.${sender.column}`), '=', sender.id)
      .where(sql.ref(`${name}.status`), '=', 'PENDING')
  // The query below selects the oldest invitation to each recipient: it skips an invitation if there is an older one to
  // the same recipient. Each recipient therefore appears once.
  const older = pendingOf('older')
    .select('older.id')
    .where(sql<boolean>`${sql.ref('older.recipient')} = ${sql.ref('one.recipient')}`)
    .where(sql<boolean>`${sql.ref('older.id')} < ${sql.ref('one.id')}`)
  let oldest = pendingOf('one')
    .select(['one.recipient', 'one.id as firstId'])
    .where(({ not, exists }) => not(exists(older)))
  if (page.beforeId !== null) oldest = oldest.where('one.id', '<', page.beforeId)
  const found = await oldest
    .orderBy('one.id', 'desc')
    .limit(page.limit + 1)
    .execute()
  const { rows, lastId } = pageOf(found, page.limit, (row) => row.firstId)
  if (rows.length === 0) return { rows: [], lastId }
  const members = records(tx.db)
    .where(`customerInvitations.${sender.column}`, '=', sender.id)
    .where('customerInvitations.status', '=', 'PENDING')
    .where(
      'recipient',
      'in',
      rows.map(({ recipient }) => recipient),
    )
  const all = await members.orderBy('customerInvitations.id').execute()
  return { rows: rows.map(({ recipient }) => all.filter((row) => row.recipient === recipient)), lastId }
}
