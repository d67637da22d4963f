import type { z } from 'zod'
import type {
  AgentDelegationInvitation,
  CustomerInvitationGroup,
  customerInvitations,
} from '../../../tools/customer-invitations.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { defaultInvitationDays } from '../rules/customer-invitations.ts'
import {
  changeInvitation,
  findInvitation,
  type InvitationGroup,
  type InvitationRecord,
  listInvitationGroups,
} from '../store/customer-invitations.ts'
import { customersAmong } from '../store/delegations.ts'
import type { PartyRow } from '../store/schema/parties.ts'
import { invitationUrls } from './steps/answer-invitations.ts'
import { expiry, inviteAll, loadAgents, uniqueRecipients } from './steps/send-invitations.ts'

export const customerInvitationHandlers = {
  createCustomerInvitation: async (input, context) => {
    const ids = input.agents.map(({ agentId }) => agentId)
    const agents = await loadAgents(context, ids, (index) => `agents/${index}/agentId`)
    const requests = agents.map((agent, index) => {
      const { permissions = [], limits } = input.agents[index] ?? {}
      return { agent, permissions, limits }
    })
    const recipients = uniqueRecipients(input.recipients)
    const { message, tags, disableNotifications } = input
    const expiresAtMs = expiry(input.expiresAt, context.nowMs, defaultInvitationDays)
    const { invitations, ...meta } = await inviteAll(context, recipients, requests, {
      message,
      tags,
      disableNotifications,
      expiresAtMs,
    })
    return { data: await invitationViews(context, invitations), meta }
  },

  listCustomerInvitations: async (input, context) => {
    const { tx, actor, publicUrl } = context
    const scope = { partyId: actor.partyId, agentId: actor.agentId }
    const list = { list: 'customerInvitations', ...scope }
    const groups = await listInvitationGroups(tx, scope, pageRequest(input, list))
    const recipients = groups.rows.map((group) => firstOf(group).recipient)
    const customers = await customersAmong(tx, scope, recipients)
    const urlOf = await invitationUrls(tx, publicUrl)
    const urls = new Map<string, string>()
    for (const row of groups.rows.flat()) urls.set(row.id, await urlOf(row))
    return page(groups, list, (group) => groupView(group, customers, urls))
  },

  revokeCustomerInvitation: async ({ invitationId }, context) => ({
    data: await revoke(context, invitationId),
    meta: { deleted: true },
  }),
} satisfies HandlersOf<typeof customerInvitations>

/** Revokes an invitation. @throws 404 if the caller may not see the invitation, 409 if it is not pending. */
export async function revoke(context: Context, invitationId: string) {
  const { tx, nowMs, causeAgentId, instanceId } = context
  const before = await loadInvitation(context, invitationId)
  const cause = { agentId: causeAgentId, instanceId }
  return invitationView(context, await changeInvitation(tx, before, 'revoke', nowMs, { cause }))
}

/**
 * Returns an invitation from the caller's party. An agent finds only invitations to connect that agent.
 * @throws 404 for any other invitation.
 */
export async function loadInvitation({ tx, actor }: Context, id: string): Promise<InvitationRecord> {
  const scope = { partyId: actor.partyId, agentId: actor.agentId }
  const invitation = await findInvitation(tx, scope, id)
  if (invitation === undefined) fail('not_found', { detail: `There is no invitation ${id}.` })
  return invitation
}

export async function invitationView(context: Context, row: InvitationRecord) {
  return (await viewsOf(context))(row)
}

export async function invitationViews(context: Context, rows: readonly InvitationRecord[]) {
  return Promise.all(rows.map(await viewsOf(context)))
}

/** Returns a function that renders an invitation. The keys for the URLs are loaded here, once for all invitations. */
export async function viewsOf({ tx, publicUrl }: Context) {
  const urlOf = await invitationUrls(tx, publicUrl)
  return async (row: InvitationRecord) => viewAt(row, await urlOf(row))
}

const iso = (ms: number | null) => (ms === null ? null : timestamp(ms))
const parsed = (json: string) => JSON.parse(json)

/** Renders an invitation. `url` is the page where the recipient accepts or declines it. */
export function viewAt(row: InvitationRecord, url: string): z.output<typeof AgentDelegationInvitation> {
  return {
    type: 'agentDelegationInvitation',
    id: row.id,
    attributes: {
      developerName: row.developerName,
      email: row.recipientType === 'email' ? row.recipient : null,
      phone: row.recipientType === 'phone' ? row.recipient : null,
      url,
      agentName: row.agentName,
      permissions: parsed(row.permissions),
      limits: row.limits === null ? null : parsed(row.limits),
      status: row.status,
      // Effects that are due, such as an expiry, are applied before every request, so the stored status is the
      // effective one.
      effectiveStatus: row.status,
      expiresAt: timestamp(row.expiresAtMs),
      acceptedAt: iso(row.acceptedAtMs),
      declinedAt: iso(row.declinedAtMs),
      cancelReason: row.cancelReason,
      tags: parsed(row.tags),
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      agent: { data: { type: 'agent', id: row.agentId } },
      customerParty: { data: row.customerPartyId === null ? null : { type: 'party', id: row.customerPartyId } },
    },
  }
}

function firstOf(group: InvitationGroup): InvitationRecord {
  const [first] = group
  if (first === undefined) throw new Error('Bug: the group has no invitations.')
  return first
}

function groupView(
  group: InvitationGroup,
  customers: readonly PartyRow[],
  urls: ReadonlyMap<string, string>,
): z.output<typeof CustomerInvitationGroup> {
  const first = firstOf(group)
  const { recipient } = first
  const party = customers.find(({ id, email, phone }) => [id, email, phone].includes(recipient))
  return {
    type: 'customerInvitation',
    id: recipient,
    attributes: {
      status: 'PENDING',
      party:
        party === undefined
          ? null
          : {
              id: party.id,
              name: party.displayName,
              email: party.email,
              avatarUrl: null,
              createdAt: timestamp(party.createdAtMs),
            },
      email: first.recipientType === 'email' ? recipient : (party?.email ?? null),
      createdAt: timestamp(first.createdAtMs),
      agentInvitations: group.map((row) => ({
        invitationId: row.id,
        agent: { id: row.agentId, name: row.agentName, handle: row.agentHandle },
        permissions: parsed(row.permissions),
        url: urls.get(row.id) ?? '',
        createdAt: timestamp(row.createdAtMs),
        expiresAt: timestamp(row.expiresAtMs),
        tags: parsed(row.tags),
      })),
    },
  }
}
