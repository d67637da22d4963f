import type { z } from 'zod'
import type { AgentCustomer, AgentCustomerInvite, agentCustomers } from '../../../tools/agent-customers.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { agentInvitationDays } from '../rules/customer-invitations.ts'
import { findAgent } from '../store/agents.ts'
import { type InvitationRecord, listInvitations, listUnacceptedInvitations } from '../store/customer-invitations.ts'
import { type AgentGrant, findAgentGrant, listAgentGrants, revokeDelegations } from '../store/delegations.ts'
import type { PageOf } from '../store/engine/page.ts'
import type { AgentRow } from '../store/schema/agents.ts'
import { revoke, viewsOf } from './customer-invitations.ts'
import { invitationUrls } from './steps/answer-invitations.ts'
import { expiry, inviteAll, loadAgents, uniqueRecipients } from './steps/send-invitations.ts'

export const agentCustomerHandlers = {
  listAgentInvitations: async (input, context) => {
    const { tx, actor } = context
    const statuses = input.status === undefined ? [] : [input.status].flat().toSorted()
    const filter = { statuses, recipient: input.customerEmail?.trim().toLowerCase(), agentId: input.agentId }
    const scope = { partyId: actor.partyId, agentId: actor.agentId }
    const list = {
      list: 'agentInvitations',
      ...scope,
      statuses: statuses.join(),
      recipient: filter.recipient,
      of: filter.agentId,
    }
    const rows = await listInvitations(tx, scope, filter, pageRequest(input, list))
    const viewOf = await viewsOf(context)
    const views = await Promise.all(rows.rows.map(viewOf))
    return page({ rows: views, lastId: rows.lastId }, list, (view) => view)
  },

  revokeAgentInvitation: async ({ invitationId }, context) => ({
    data: await revoke(context, invitationId),
    meta: { deleted: true },
  }),

  /**
   * Lists all grants before all invitations, each newest first. The list is in descending order of ids, and every
   * grant's id (`dlg_…`) is greater than every invitation's id (`adi_…`).
   */
  listAgentCustomers: async (input, context) => {
    const { tx } = context
    const agent = await loadAgent(context, input.agentId)
    const list = { list: 'agentCustomers', agentId: agent.id, viewer: context.actor.agentId }
    const request = pageRequest(input, list)
    const grants = await listAgentGrants(tx, agent.id, request)
    const room = request.limit - grants.rows.length
    if (grants.lastId !== null) return page(grants, list, (row) => grantView(row, agent))
    // Reads at least one invitation, even if the grants fill the page, to find out whether there is another page.
    const invitations = await listUnacceptedInvitations(tx, agent, { ...request, limit: Math.max(room, 1) })
    const invitationRows = invitations.rows.slice(0, room)
    const more = invitations.lastId !== null || invitations.rows.length > room
    const rows = [
      ...grants.rows.map((row) => ({ id: row.id, view: grantView(row, agent) })),
      ...invitationRows.map((row) => ({ id: row.id, view: pendingView(row, agent) })),
    ]
    const found: PageOf<(typeof rows)[number]> = { rows, lastId: more ? (rows.at(-1)?.id ?? null) : null }
    return page(found, list, ({ view }) => view)
  },

  createAgentCustomerInvitation: async (input, context) => {
    const { tx, publicUrl, nowMs } = context
    await loadAgent(context, input.agentId)
    const [agent] = await loadAgents(context, [input.agentId], () => 'agentId')
    if (agent === undefined) throw new Error('Bug: an agent that was loaded is missing.')
    const { permissions, limits, tags } = input
    const recipients = uniqueRecipients(input.recipients)
    const terms = { tags, expiresAtMs: expiry(input.expiresAt, nowMs, agentInvitationDays) }
    const outcome = await inviteAll(context, recipients, [{ agent, permissions, limits }], terms)
    const [failed] = outcome.failedRecipients
    // The response cannot list recipients who could not be invited, so one such recipient fails the whole request.
    if (failed !== undefined) failAttribute('recipients', `${failed.recipient.value}: ${failed.reason}`)
    const urlOf = await invitationUrls(tx, publicUrl)
    return {
      data: await Promise.all(outcome.invitations.map(async (row) => inviteView(row, agent, await urlOf(row)))),
      meta: { emailFailures: [], alreadyConnected: outcome.alreadyConnected },
    }
  },

  removeAgentCustomer: async ({ agentId, customerId }, context) => {
    const { tx, actor, nowMs } = context
    const agent = await loadAgent(context, agentId)
    const load = async () => {
      const grant = await findAgentGrant(tx, agentId, customerId)
      if (grant === undefined) fail('not_found', { detail: `The agent has no customer ${customerId}.` })
      return grant
    }
    await load()
    await revokeDelegations(tx, { agentPartyId: actor.partyId, customerPartyId: customerId, agentId }, nowMs)
    return { data: grantView(await load(), agent), meta: { deleted: true } }
  },
} satisfies HandlersOf<typeof agentCustomers>

/** Returns an agent of the caller's party. A calling agent finds only itself. @throws 404 for any other agent. */
async function loadAgent({ tx, actor }: Context, agentId: string): Promise<AgentRow> {
  const visible = actor.agentId === null || actor.agentId === agentId
  const agent = visible ? await findAgent(tx, actor.partyId, agentId) : undefined
  if (agent === undefined) fail('not_found', { detail: `There is no agent ${agentId}.` })
  return agent
}

function grantView(row: AgentGrant, agent: AgentRow): z.output<typeof AgentCustomer> {
  return {
    type: 'customer',
    id: row.customerPartyId,
    attributes: {
      name: row.customerName,
      email: row.customerEmail,
      status: row.status === 'ACTIVE' ? 'ACTIVE' : 'REVOKED',
      permissions: JSON.parse(row.permissions),
      limits: row.limits === null ? null : JSON.parse(row.limits),
      createdAt: timestamp(row.createdAtMs),
      updatedAt: row.revokedAtMs === null ? null : timestamp(row.revokedAtMs),
    },
    relationships: { agent: { data: { type: 'agent', id: agent.id, attributes: { name: agent.name } } } },
  }
}

function pendingView(row: InvitationRecord, agent: AgentRow): z.output<typeof AgentCustomer> {
  return {
    type: 'customer',
    id: row.recipient,
    attributes: {
      name: null,
      email: row.recipientType === 'email' ? row.recipient : null,
      status: row.status,
      permissions: JSON.parse(row.permissions),
      limits: row.limits === null ? null : JSON.parse(row.limits),
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: { agent: { data: { type: 'agent', id: agent.id, attributes: { name: agent.name } } } },
  }
}

function inviteView(row: InvitationRecord, agent: AgentRow, url: string): z.output<typeof AgentCustomerInvite> {
  const { name, description, status } = agent
  return {
    type: 'customerInvitation',
    id: row.id,
    attributes: {
      recipient: { type: row.recipientType, value: row.recipient },
      url,
      status: row.status,
      permissions: JSON.parse(row.permissions),
      limits: row.limits === null ? null : JSON.parse(row.limits),
      tags: JSON.parse(row.tags),
      expiresAt: timestamp(row.expiresAtMs),
      createdAt: timestamp(row.createdAtMs),
      updatedAt: timestamp(row.updatedAtMs),
    },
    relationships: {
      agent: { data: { type: 'agent', id: agent.id, attributes: { name, description, status } } },
      customerParty: { data: null },
    },
  }
}
