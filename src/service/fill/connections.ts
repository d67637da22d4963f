import { newSecret, sha256, timestamp } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { hashOfToken, invitationToken } from '../operations/steps/answer-invitations.ts'
import {
  cancelReasonOf,
  type InvitationEvent,
  type InvitationState,
  pendingInvitation,
} from '../rules/customer-invitations.ts'
import type { ProposedAgent } from '../rules/invitation-links.ts'
import { limitsColumn } from '../rules/limits.ts'
import { changeInvitation, insertInvitation } from '../store/customer-invitations.ts'
import { createDelegation, grant, revokeDelegations } from '../store/delegations.ts'
import { insertLink } from '../store/invitation-links.ts'
import type { CustomerInvitationRow } from '../store/schema/customer-invitations.ts'
import type { DelegationRow } from '../store/schema/delegations.ts'
import type { Path } from './history.ts'
import { mustFind, type WorldBuilder } from './world-builder.ts'

type Invitation = NonNullable<WorldParty['invitations']>[number]
type Customer = NonNullable<WorldParty['customers']>[number]

const dayMs = 24 * 60 * 60 * 1000
const lifetimeMs = 30 * dayMs

/**
 * Adds to the history the grants that a party's agents received from other parties. A grant with the status `REVOKED`
 * becomes two events: the grant is created as active, and later it is revoked.
 */
export function planGrants(builder: WorldBuilder, index: number): void {
  const { tx, clockMs } = builder.context
  const { id: agentPartyId, party } = builder.account(index)
  for (const [at, customer] of (party.customers ?? []).entries()) {
    const path = ['parties', index, 'customers', at]
    const row = grantOf(builder, index, customer, path)
    builder.history.add({ atMs: row.createdAtMs, path, postings: [], apply: () => createDelegation(tx, row) })
    if (customer.status !== 'REVOKED') continue
    const { customerPartyId, agentId } = row
    const revokedAtMs = builder.past(customer.revokedAt, clockMs, [...path, 'revokedAt'], row.createdAtMs)
    const apply = () => revokeDelegations(tx, { agentPartyId, customerPartyId, agentId }, revokedAtMs)
    builder.history.add({ atMs: revokedAtMs, path, postings: [], apply })
  }
}

function grantOf(builder: WorldBuilder, index: number, customer: Customer, path: Path): DelegationRow {
  const { status, permissions } = customer
  const createdAtMs = builder.past(customer.createdAt, builder.defaultCreatedAtMs, [...path, 'createdAt'])
  const hasEnded = status === 'EXPIRED' || status === 'SUSPENDED'
  const endedAt = [...path, 'revokedAt']
  return {
    id: builder.id('dlg', customer.id, createdAtMs),
    customerPartyId: builder.account(mustFind(builder.names.party(customer.customer))).id,
    agentPartyId: builder.account(index).id,
    agentId: mustFind(builder.agent(index, customer.agent)).id,
    permissions: JSON.stringify([...new Set(permissions)]),
    limits: limitsColumn(customer.limits),
    status: hasEnded ? status : 'ACTIVE',
    createdAtMs,
    revokedAtMs: hasEnded ? builder.past(customer.revokedAt, builder.context.clockMs, endedAt, createdAtMs) : null,
  }
}

/** Adds a party's invitations and invitation links to the history. */
export function planInvitations(builder: WorldBuilder, index: number): void {
  const { invitations = [], invitationLinks = [] } = builder.account(index).party
  for (const [at, invitation] of invitations.entries()) {
    planInvitation(builder, index, invitation, ['parties', index, 'invitations', at])
  }
  for (const [at, link] of invitationLinks.entries()) {
    planLink(builder, index, link, ['parties', index, 'invitationLinks', at])
  }
}

const eventOf = { ACCEPTED: 'accept', DECLINED: 'decline', EXPIRED: 'expire', CANCELED: 'revoke' } as const

function planInvitation(builder: WorldBuilder, index: number, invitation: Invitation, path: Path): void {
  const { tx, clockMs } = builder.context
  const { status } = invitation
  const expiredMs = status === 'EXPIRED' ? builder.moment(invitation.expiresAt, clockMs) : clockMs
  const endMs = builder.past(invitation.endedAt, expiredMs, [...path, status === 'EXPIRED' ? 'expiresAt' : 'endedAt'])
  const sentMs = status === 'PENDING' ? clockMs : endMs - dayMs
  const createdAtMs = builder.past(invitation.createdAt, sentMs, [...path, 'createdAt'])
  if (endMs < createdAtMs) refuseWorld(path, `must not end before ${timestamp(createdAtMs)}, when it was sent`)
  const expiresAtMs = builder.moment(invitation.expiresAt, status === 'EXPIRED' ? endMs : createdAtMs + lifetimeMs)
  if (status === 'PENDING' && expiresAtMs <= clockMs) {
    refuseWorld(
      [...path, 'expiresAt'],
      `must be after the world begins (${timestamp(clockMs)}), because the invitation is PENDING`,
    )
  }
  const invitee = mustFind(builder.names.recipientOf(index, invitation.to))
  const customer = invitee.kind === 'party' ? builder.account(invitee.party) : null
  const id = builder.id('adi', invitation.id, createdAtMs)
  const row = { ...rowOf(builder, index, invitation, id), ...pendingInvitation(expiresAtMs, createdAtMs) }
  const whole = { ...row, version: 1, expiresAtMs, createdAtMs }
  const insert = async () => {
    await insertInvitation(tx, { ...whole, tokenHash: hashOfToken(await invitationToken(tx, id)) })
  }
  builder.history.add({ atMs: createdAtMs, path, postings: [], apply: insert })
  if (status === 'PENDING') return
  const event = status === 'CANCELED' ? cancelEvent(invitation) : eventOf[status]
  const apply = async () => {
    const by = status === 'ACCEPTED' || status === 'DECLINED' ? customer?.id : undefined
    const before = { ...whole, tokenHash: '' }
    await changeInvitation(tx, before, event, endMs, by === undefined ? {} : { customerPartyId: by })
    if (status === 'ACCEPTED') await accept(builder, index, invitation, before, endMs)
  }
  builder.history.add({ atMs: endMs, path, postings: [], apply })
}

function cancelEvent({ cancelReason = 'DEVELOPER_REVOKED' }: Invitation): InvitationEvent {
  const events = Object.entries(cancelReasonOf) as [InvitationEvent, string | null][]
  return mustFind(events.find(([, reason]) => reason === cancelReason))[0]
}

/** The columns of an invitation, except its state, version, token and times. */
type InvitationDetails = Omit<
  CustomerInvitationRow,
  keyof InvitationState | 'tokenHash' | 'version' | 'expiresAtMs' | 'createdAtMs'
>

function rowOf(builder: WorldBuilder, index: number, invitation: Invitation, id: string): InvitationDetails {
  const { permissions, limits, message, tags } = invitation
  const invitee = mustFind(builder.names.recipientOf(index, invitation.to))
  const addressType = invitation.to.includes('@') ? 'email' : invitation.to.startsWith('+') ? 'phone' : null
  const recipient = invitee.kind === 'party' ? builder.account(invitee.party).id : invitee.address
  return {
    id,
    partyId: builder.account(index).id,
    agentId: mustFind(builder.agent(index, invitation.agent)).id,
    recipientType: addressType ?? 'party_id',
    recipient: addressType === null ? recipient : invitation.to.toLowerCase(),
    permissions: JSON.stringify([...new Set(permissions)]),
    limits: limits === undefined ? null : JSON.stringify(limits),
    message: message ?? null,
    tags: JSON.stringify(tags ?? {}),
    customerPartyId: null,
    createdByAgentId: null,
    createdInstanceId: null,
    canceledByAgentId: null,
    canceledInstanceId: null,
  }
}

/**
 * Gives the agent the permissions that an accepted invitation requested. Does nothing if the world file also lists a
 * grant from the invited customer to the agent.
 */
async function accept(
  builder: WorldBuilder,
  index: number,
  invitation: Invitation,
  { partyId, agentId, permissions, limits }: Omit<CustomerInvitationRow, 'tokenHash'>,
  nowMs: number,
): Promise<void> {
  const { tx, system } = builder.context
  const { names } = builder
  const { party } = builder.account(index)
  const invitee = mustFind(names.recipientOf(index, invitation.to))
  if (invitee.kind !== 'party') throw new Error('Bug: the party that accepted an invitation is not in the world.')
  const isInFile = (party.customers ?? []).some(
    ({ customer, agent }) => names.party(customer) === invitee.party && builder.agent(index, agent)?.id === agentId,
  )
  if (isInFile) return
  const customerPartyId = builder.account(invitee.party).id
  await grant(tx, system, { customerPartyId, agentPartyId: partyId, agentId, permissions, limits }, nowMs)
}

function planLink(
  builder: WorldBuilder,
  index: number,
  link: NonNullable<WorldParty['invitationLinks']>[number],
  path: Path,
): void {
  const { tx, system, clockMs } = builder.context
  const { token = newSecret(system), status } = link
  const createdAtMs = builder.past(link.createdAt, builder.defaultCreatedAtMs, [...path, 'createdAt'])
  const isRevoked = status === 'REVOKED'
  const proposedAgents = link.proposedAgents.map(({ agent, permissions, limits = null }): ProposedAgent => {
    return { agentId: mustFind(builder.agent(index, agent)).id, permissions: [...new Set(permissions)], limits }
  })
  const row = {
    id: builder.id('ivl', link.id, createdAtMs),
    partyId: builder.account(index).id,
    name: link.name,
    proposedAgents: JSON.stringify(proposedAgents),
    status,
    tags: JSON.stringify(link.tags ?? {}),
    tokenHash: sha256(token),
    maskedToken: `${token.slice(0, 4)}…${token.slice(-4)}`,
    version: isRevoked ? 2 : 1,
    expiresAtMs: link.expiresAt === undefined ? null : builder.moment(link.expiresAt, clockMs),
    createdAtMs,
    updatedAtMs: isRevoked ? builder.past(link.revokedAt, clockMs, [...path, 'revokedAt'], createdAtMs) : createdAtMs,
  }
  builder.history.add({ atMs: createdAtMs, path, postings: [], apply: () => insertLink(tx, row) })
}
