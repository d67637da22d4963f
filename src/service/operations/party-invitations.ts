import type { z } from 'zod'
import type { PartyInvitation, partyInvitations } from '../../../tools/party-invitations.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { canGrant, grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import {
  isPartyInvitationExpired,
  nextPartyInvitationStatus,
  partyInvitationExpiryMs,
} from '../rules/party-invitations.ts'
import { findParty } from '../store/parties.ts'
import {
  answerPartyInvitation,
  findPartyInvitation,
  insertPartyInvitation,
  listPartyInvitations,
  pendingPartyInvitation,
} from '../store/party-invitations.ts'
import { keepMessage } from '../store/sandbox-messages.ts'
import type { PartyInvitationRow } from '../store/schema/party-invitations.ts'
import { findUserByEmail } from '../store/users.ts'
import { partyInvitationToken, partyInvitationUrls } from './steps/answer-party-invitations.ts'
import { requireManager } from './steps/require-manager.ts'

type InvitationResource = z.output<typeof PartyInvitation>
type Invitee = Pick<PartyInvitationRow, 'email' | 'role'>

export const partyInvitationHandlers = {
  listPartyInvitations: async (input, context) => {
    const { tx, partyId } = context
    const scope = { partyId, email: input.email?.toLowerCase(), status: input.status }
    const list = { list: 'partyInvitations', ...scope }
    const { rows, lastId } = await listPartyInvitations(tx, scope, pageRequest(input, list))
    const views = await Promise.all(rows.map(await viewsOf(context)))
    return page({ rows: views, lastId }, list, (view) => view)
  },

  createPartyInvitations: async ({ invitations }, context) => {
    const { tx, actor, partyId } = context
    await requireManager(context)
    // Anyone who has the returned URL can join the party, and then has all permissions of its users. The caller must
    // therefore have these permissions too.
    requireCanGrant(actor, grantedScopes.membership())
    // With this lock, two concurrent requests cannot both invite the same person.
    await tx.lockParty(partyId)
    const invitees = invitations.map(({ email, role }) => ({ email: email.toLowerCase(), role }))
    requireDistinctEmails(invitees)
    const [party, view] = await Promise.all([findParty(tx, partyId), viewsOf(context)])
    const from = party?.displayName ?? ''
    const rows: PartyInvitationRow[] = []
    const failed: { email: string; error: string }[] = []
    for (const invitee of invitees) {
      const invited = await invite(context, { ...invitee, from })
      if (typeof invited === 'string') failed.push({ email: invitee.email, error: invited })
      else rows.push(invited)
    }
    return { data: await Promise.all(rows.map(view)), meta: { failed } }
  },

  /** Revokes an invitation. An invitation that is already revoked is returned unchanged. */
  revokePartyInvitation: async ({ invitationId }, context) => {
    const { tx, partyId, nowMs } = context
    await requireManager(context)
    const before = await findPartyInvitation(tx, partyId, invitationId)
    if (before === undefined) fail('not_found', { detail: `There is no invitation ${invitationId} to this party.` })
    const view = await viewsOf(context)
    const meta = { deleted: true } as const
    if (before.status === 'REVOKED') return { data: await view(before), meta }
    const status = nextPartyInvitationStatus(before.status, 'revoke')
    const after = await answerPartyInvitation(tx, before, { status, userId: null, updatedAtMs: nowMs })
    return { data: await view(after), meta }
  },
} satisfies HandlersOf<typeof partyInvitations>

/** Refuses two invitations to the same email address. @throws 422 with the path of the second invitation. */
function requireDistinctEmails(invitees: readonly Invitee[]): void {
  const second = invitees.findIndex(({ email }, index) => invitees.findIndex((one) => one.email === email) < index)
  if (second === -1) return
  failAttribute(
    `invitations/${second}/email`,
    `invitations.${second}.email repeats an earlier email address in this request. List each address once.`,
  )
}

const roleWords = { ADMIN: 'an admin', MEMBER: 'a member' } as const

/**
 * Invites a person. If the person has a pending invitation for the same role, returns this invitation instead. If the
 * person cannot be invited, returns the reason as a string.
 */
async function invite(
  context: Context,
  { email, role, from }: Invitee & { from: string },
): Promise<PartyInvitationRow | string> {
  const { tx, system, partyId, nowMs, causeAgentId } = context
  if ((await findUserByEmail(tx, email))?.partyId === partyId) {
    return `${email} is already a member of the party. list_party_members lists all members.`
  }
  const pending = await pendingPartyInvitation(tx, { partyId, email })
  if (pending !== undefined && isPartyInvitationExpired(pending, nowMs)) {
    await answerPartyInvitation(tx, pending, { status: 'REVOKED', userId: null, updatedAtMs: nowMs })
  } else if (pending?.role === role) return pending
  else if (pending !== undefined) {
    return `${email} is already invited as ${pending.role}. To invite this person as ${role}, revoke ${pending.id} first.`
  }
  const id = newId('inv', system, nowMs)
  const { tokenHash } = await partyInvitationToken(tx, id)
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs }
  const row: PartyInvitationRow = {
    id,
    partyId,
    email,
    role,
    tokenHash,
    ...times,
    status: 'PENDING',
    userId: null,
    version: 1,
  }
  await insertPartyInvitation(tx, row)
  const about = { partyId, id, agentId: causeAgentId }
  await keepMessage(context, { kind: 'party_invitation', to: email, about, from, role: roleWords[role] })
  return row
}

/**
 * Returns a function that renders invitations. An invitation's `url` is shown only if the invitation is open and the
 * caller may grant membership; otherwise it is null.
 */
async function viewsOf({
  tx,
  actor,
  publicUrl,
  nowMs,
}: Context): Promise<(row: PartyInvitationRow) => Promise<InvitationResource>> {
  const urlOf = await partyInvitationUrls(tx, publicUrl)
  const showsUrl = canGrant(actor, grantedScopes.membership())
  const isOpen = (row: PartyInvitationRow) => row.status === 'PENDING' && !isPartyInvitationExpired(row, nowMs)
  return async (row) => partyInvitationView(row, showsUrl && isOpen(row) ? await urlOf(row) : null)
}

export function partyInvitationView(row: PartyInvitationRow, url: string | null): InvitationResource {
  const { id, partyId, email, role, status, createdAtMs, updatedAtMs } = row
  return {
    type: 'invitation',
    id,
    attributes: {
      email,
      role,
      status,
      url,
      expiresAt: timestamp(partyInvitationExpiryMs(row)),
      // An accepted invitation never changes again, so it was accepted when it was last updated.
      acceptedAt: status === 'ACCEPTED' ? timestamp(updatedAtMs) : null,
      createdAt: timestamp(createdAtMs),
      updatedAt: timestamp(updatedAtMs),
    },
    relationships: { party: { data: { type: 'party', id: partyId } } },
  }
}
