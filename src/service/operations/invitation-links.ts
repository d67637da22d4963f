import type { z } from 'zod'
import type { InvitationLink, invitationLinks } from '../../../tools/invitation-links.ts'
import { fail, failAttribute, show } from '../../core/errors.ts'
import { newId, newSecret, parseTimestamp, timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { type ProposedAgent, revokedLink } from '../rules/invitation-links.ts'
import { changeLinkStatus, findLink, insertLink, listLinks } from '../store/invitation-links.ts'
import type { InvitationLinkRow } from '../store/schema/invitation-links.ts'
import { hashOfToken } from './steps/answer-invitations.ts'
import { loadAgents, requireMayAskFor } from './steps/send-invitations.ts'

export const invitationLinkHandlers = {
  listInvitationLinks: async (input, { tx, partyId }) => {
    const scope = { partyId, status: input.statusFilter }
    const list = { list: 'invitationLinks', ...scope }
    return page(await listLinks(tx, scope, pageRequest(input, list)), list, linkView)
  },

  createInvitationLink: async (input, context) => {
    const { tx, partyId, system, nowMs, publicUrl } = context
    const ids = input.proposedAgents.map(({ agentId }) => agentId)
    await loadAgents(context, ids, (index) => `proposedAgents/${index}/agentId`)
    requireMayAskFor(context, input.proposedAgents)
    const proposedAgents = input.proposedAgents.map(
      ({ agentId, permissions, limits = null }): ProposedAgent => ({
        agentId,
        permissions: [...new Set(permissions)],
        limits,
      }),
    )
    const token = newSecret(system)
    const row = {
      id: newId('ivl', system, nowMs),
      partyId,
      name: input.name,
      proposedAgents: JSON.stringify(proposedAgents),
      status: 'ACTIVE',
      tags: JSON.stringify(input.tags ?? {}),
      tokenHash: hashOfToken(token),
      maskedToken: `${token.slice(0, 4)}…${token.slice(-4)}`,
      version: 1,
      expiresAtMs: expiry(input.expiresAt, nowMs),
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    } as const
    await insertLink(tx, row)
    const { attributes, ...view } = linkView(row)
    const { maskedToken, ...rest } = attributes
    return { ...view, attributes: { ...rest, token, url: `${publicUrl()}/connect/links/${token}` } }
  },

  getInvitationLink: async ({ linkId }, context) => linkView(await loadLink(context, linkId)),

  revokeInvitationLink: async ({ linkId }, context) => {
    const { tx, partyId, nowMs } = context
    // Joining takes the same lock. A customer who joins at the same time either joins first or finds the link revoked.
    await tx.lockParty(partyId)
    const before = await loadLink(context, linkId)
    return linkView(await changeLinkStatus(tx, before, revokedLink(before.status), nowMs))
  },
} satisfies HandlersOf<typeof invitationLinks>

async function loadLink({ tx, partyId }: Context, id: string): Promise<InvitationLinkRow> {
  const link = await findLink(tx, partyId, id)
  return link ?? fail('not_found', { detail: `There is no invitation link ${id}.` })
}

/**
 * Returns the time when the link expires; null if it never expires. @throws 422 if `expiresAt` is not in the future.
 */
function expiry(requestedExpiry: string | undefined, nowMs: number): number | null {
  if (requestedExpiry === undefined) return null
  const expiresAtMs = parseTimestamp(requestedExpiry)
  if (expiresAtMs > nowMs) return expiresAtMs
  return failAttribute('expiresAt', `expiresAt must be in the future, got ${show(requestedExpiry)}.`)
}

function linkView(row: InvitationLinkRow): z.output<typeof InvitationLink> {
  return {
    type: 'invitationLink',
    id: row.id,
    attributes: {
      name: row.name,
      status: row.status,
      proposedAgents: JSON.parse(row.proposedAgents) as ProposedAgent[],
      maskedToken: row.maskedToken,
      expiresAt: row.expiresAtMs === null ? null : timestamp(row.expiresAtMs),
      tags: JSON.parse(row.tags) as Record<string, string>,
      createdAt: timestamp(row.createdAtMs),
    },
    relationships: { delegateeParty: { data: { type: 'party', id: row.partyId } } },
  }
}
