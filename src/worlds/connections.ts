import { z } from 'zod'
import { AgentLimits } from '../../tools/agents.ts'
import { cancelReasons, invitationStatuses, Permissions, SentLimits } from '../../tools/customer-invitations.ts'
import { linkStatuses } from '../../tools/invitation-links.ts'
import { Tags, Text } from '../../tools/schemas.ts'
import { delegable } from '../core/permissions.ts'
import { FixedId, LinkToken, listOf, Moment, Ref, RefTo } from './fields.ts'

const ref = Ref.optional().describe('Its name in this file')
const tags = Tags.optional()
const createdAt = Moment.optional().describe(
  'When it was created. Default: a day before the first dated event in the file',
)
const agent = RefTo('An agent of the party')

export const delegationStatuses = ['ACTIVE', 'REVOKED', 'EXPIRED', 'SUSPENDED'] as const

/** A grant from another party to one of this party's agents. */
export const Customer = z.strictObject({
  id: FixedId('dlg'),
  customer: RefTo('The party that gave the grant'),
  agent,
  permissions: Permissions.default([...delegable]).describe('The granted permissions. Default: all'),
  limits: AgentLimits.optional().describe('Limits on what the agent may spend for the customer, in cents'),
  status: z.enum(delegationStatuses).default('ACTIVE').describe('Its status when the world begins'),
  createdAt,
  revokedAt: Moment.optional().describe('When the grant ended, if it is not ACTIVE. Default: when the world begins'),
})

const terms = {
  permissions: Permissions.default([...delegable]).describe('The requested permissions. Default: all'),
  limits: SentLimits.optional(),
}

export const Invitation = z.strictObject({
  ref,
  id: FixedId('adi'),
  to: RefTo('The recipient: a party of this file, or any email address or phone number'),
  agent,
  ...terms,
  message: Text(500).optional().describe('A message to the recipient'),
  status: z
    .enum(invitationStatuses)
    .default('PENDING')
    .describe(
      'Its status when the world begins. ACCEPTED also creates the grant, unless it is already listed in customers',
    ),
  cancelReason: z
    .enum(cancelReasons)
    .optional()
    .describe('Why the invitation was canceled. Default if CANCELED: DEVELOPER_REVOKED'),
  tags,
  createdAt: Moment.optional().describe(
    'When it was sent. Default: when the world begins; for an ended invitation, a day before its end',
  ),
  expiresAt: Moment.optional().describe('When the invitation expires. Default: 30 days after it was sent'),
  endedAt: Moment.optional().describe(
    'When the recipient accepted or declined the invitation, or when it was canceled. Default: when the world begins',
  ),
})

export const InvitationLink = z.strictObject({
  ref,
  id: FixedId('ivl'),
  name: Text(100).describe('Its name'),
  proposedAgents: listOf(z.strictObject({ agent, ...terms }), 'agent').describe(
    'The proposed agents, each with its permissions',
  ),
  token: LinkToken('the address of the link, /connect/links/…'),
  status: z.enum(linkStatuses).default('ACTIVE').describe('Its status when the world begins'),
  tags,
  createdAt,
  expiresAt: Moment.optional().describe('When the link expires; may be in the past. Default: never'),
  revokedAt: Moment.optional().describe('When the link was revoked, if REVOKED. Default: when the world begins'),
})
