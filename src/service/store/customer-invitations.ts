import type { Kysely } from 'kysely'
import {
  applyToInvitation,
  type InvitationEvent,
  type InvitationState,
  type InvitationStatus,
  type Recipient,
} from '../rules/customer-invitations.ts'
import type { NextAt } from './clock.ts'
import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { CustomerInvitationRow } from './schema/customer-invitations.ts'
import type { Tables } from './schema/tables.ts'

/** An invitation with what it tells of the two that invite. */
export interface InvitationRecord extends CustomerInvitationRow {
  developerName: string
  agentName: string
  agentHandle: string | null
  agentStatus: 'ACTIVE' | 'REVOKED'
}

/** Whose invitations are meant: a party's, for an agent only those to delegate to it. */
export interface InvitationScope {
  partyId: string
  agentId: string | null
}

export const insertInvitation = inserting('customerInvitations')

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

/** The invitation whose page is at the address with that token, whoever's it is: whoever has the token was invited. */
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
    .innerJoin('agents', 'agents.id', 'customerInvitations.agentId')
    .selectAll('customerInvitations')
    .select([
      'parties.displayName as developerName',
      'agents.name as agentName',
      'agents.handle as agentHandle',
      'agents.status as agentStatus',
    ])
}

/** Which agent or run had a part in an event. */
export interface InvitationCause {
  agentId: string | null
  instanceId: string | null
}

/** What an event makes of an invitation. @throws 409 `conflict` when it is not pending. */
export async function changeInvitation<Row extends CustomerInvitationRow>(
  tx: Transaction,
  before: Row,
  event: InvitationEvent,
  nowMs: number,
  by: { cause?: InvitationCause; customerPartyId?: string } = {},
): Promise<Row> {
  const state = applyToInvitation(before, event, nowMs)
  const canceled = state.status === 'CANCELED' ? by.cause : undefined
  const { id, version } = before
  const rest = {
    ...state,
    customerPartyId: by.customerPartyId ?? before.customerPartyId,
    canceledByAgentId: canceled?.agentId ?? null,
    canceledInstanceId: canceled?.instanceId ?? null,
  }
  mustChangeOne(await update(tx, { ...rest, id, version, nextVersion: version + 1 }), `invitation ${id}`)
  return { ...before, ...rest, version: version + 1 }
}

type Update = InvitationState &
  Pick<CustomerInvitationRow, 'id' | 'version' | 'customerPartyId' | 'canceledByAgentId' | 'canceledInstanceId'> & {
    nextVersion: number
  }

const update = prepared((db, { id, version, nextVersion, ...row }: Update) =>
  db
    .updateTable('customerInvitations')
    .set({ ...row, version: nextVersion })
    .where('id', '=', id)
    .where('version', '=', version),
)

/** When the next invitation expires. */
export const nextInvitationExpiry: NextAt = (db) =>
  db
    .selectFrom('customerInvitations')
    .select((row) => row.fn.min('pendingUntilMs').as('atMs'))
    .where('pendingUntilMs', 'is not', null)

/** Invitations that should have been answered by `nowMs`, the longest overdue first. */
export async function expiredInvitations(
  tx: Transaction,
  nowMs: number,
  limit: number,
): Promise<CustomerInvitationRow[]> {
  return (await expired(tx, { nowMs, limit })).rows
}

const expired = prepared((db, by: { nowMs: number; limit: number }) =>
  db
    .selectFrom('customerInvitations')
    .selectAll()
    .where('pendingUntilMs', '<=', by.nowMs)
    .orderBy('pendingUntilMs')
    .orderBy('id')
    .limit(by.limit),
)

/** Cancels what is pending for an agent that is deleted. */
export async function cancelInvitationsOfAgent(
  tx: Transaction,
  agentId: string,
  nowMs: number,
  cause?: InvitationCause,
): Promise<void> {
  const rows = await pending(tx).where('agentId', '=', agentId).execute()
  for (const row of rows) await changeInvitation(tx, row, 'agent_retired', nowMs, cause === undefined ? {} : { cause })
}

/** Cancels what is pending for an agent and a customer that have just been connected by another invitation. */
export async function cancelConnectedInvitations(
  tx: Transaction,
  agentId: string,
  recipients: readonly Recipient[],
  nowMs: number,
): Promise<void> {
  const values = recipients.map(({ value }) => value)
  const rows = await pending(tx).where('agentId', '=', agentId).where('recipient', 'in', values).execute()
  for (const row of rows) await changeInvitation(tx, row, 'connected', nowMs)
}

function pending(tx: Transaction) {
  return tx.db.selectFrom('customerInvitations').selectAll().where('status', '=', 'PENDING').orderBy('id')
}

/** The invitations of a scope, newest first. */
export async function listInvitations(
  tx: Transaction,
  scope: InvitationScope,
  filter: { statuses: readonly InvitationStatus[]; recipient: string | undefined; agentId: string | undefined },
  page: PageRequest,
): Promise<PageOf<InvitationRecord>> {
  let query = records(tx.db).where('customerInvitations.partyId', '=', scope.partyId)
  for (const agentId of [scope.agentId, filter.agentId]) {
    if (agentId !== null && agentId !== undefined) query = query.where('customerInvitations.agentId', '=', agentId)
  }
  if (filter.statuses.length > 0) query = query.where('customerInvitations.status', 'in', filter.statuses)
  if (filter.recipient !== undefined) {
    query = query.where('recipientType', '=', 'email').where('recipient', '=', filter.recipient)
  }
  return readPage(query, page, 'customerInvitations.id')
}

/** The invitations for an agent that no grant came of, newest first. */
export async function listUnacceptedInvitations(
  tx: Transaction,
  agentId: string,
  page: PageRequest,
): Promise<PageOf<InvitationRecord>> {
  const query = records(tx.db).where('customerInvitations.agentId', '=', agentId)
  return readPage(query.where('customerInvitations.status', '!=', 'ACCEPTED'), page, 'customerInvitations.id')
}

/** The pending invitations of a recipient, the oldest first. */
export type InvitationGroup = InvitationRecord[]

/** By recipient, the one whose oldest pending invitation is the newest first. */
export async function listInvitationGroups(
  tx: Transaction,
  scope: InvitationScope,
  page: PageRequest,
): Promise<PageOf<InvitationGroup>> {
  let groups = tx.db
    .selectFrom('customerInvitations')
    .select((row) => ['recipient', row.fn.min('id').as('firstId')])
    .where('partyId', '=', scope.partyId)
    .where('status', '=', 'PENDING')
    .groupBy('recipient')
  if (scope.agentId !== null) groups = groups.where('agentId', '=', scope.agentId)
  const { beforeId } = page
  if (beforeId !== null) groups = groups.having((row) => row.fn.min('id'), '<', beforeId)
  const found = await groups
    .orderBy('firstId', 'desc')
    .limit(page.limit + 1)
    .execute()
  const { rows, lastId } = pageOf(found, page.limit, (row) => row.firstId)
  if (rows.length === 0) return { rows: [], lastId }
  let members = records(tx.db)
    .where('customerInvitations.partyId', '=', scope.partyId)
    .where('customerInvitations.status', '=', 'PENDING')
    .where(
      'recipient',
      'in',
      rows.map(({ recipient }) => recipient),
    )
  if (scope.agentId !== null) members = members.where('customerInvitations.agentId', '=', scope.agentId)
  const all = await members.orderBy('customerInvitations.id').execute()
  return { rows: rows.map(({ recipient }) => all.filter((row) => row.recipient === recipient)), lastId }
}
