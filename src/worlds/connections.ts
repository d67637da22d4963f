import { z } from 'zod'
import { AgentLimits } from '../../tools/agents.ts'
import { cancelReasons, invitationStatuses, Permissions, SentLimits } from '../../tools/customer-invitations.ts'
import { linkStatuses } from '../../tools/invitation-links.ts'
import { Tags, Text } from '../../tools/schemas.ts'
import { delegable } from '../core/permissions.ts'
import { FixedId, LinkToken, listOf, Moment, Ref, RefTo } from './fields.ts'

const ref = Ref.optional().describe('What it is called in this file')
const tags = Tags.optional()
const createdAt = Moment.optional().describe(
  'When it was made. Default: a day before the first thing that the file dates',
)
const agent = RefTo('An agent of the party')

export const delegationStatuses = ['ACTIVE', 'REVOKED', 'EXPIRED', 'SUSPENDED'] as const

/** A grant from another party to one of this party's agents. */
export const Customer = z.strictObject({
  id: FixedId('dlg'),
  customer: RefTo('The party that granted it'),
  agent,
  permissions: Permissions.default([...delegable]).describe('What it allows. Default: all'),
  limits: AgentLimits.optional().describe("Caps on what the agent spends of the customer's, cents"),
  status: z.enum(delegationStatuses).default('ACTIVE').describe('How it stands when the world begins'),
  createdAt,
  revokedAt: Moment.optional().describe('When it ended, unless it is ACTIVE. Default: when the world begins'),
})

const terms = {
  permissions: Permissions.default([...delegable]).describe('What it asks for. Default: all'),
  limits: SentLimits.optional(),
}

export const Invitation = z.strictObject({
  ref,
  id: FixedId('adi'),
  to: RefTo('Who is asked: a party of this file, or the e-mail address or phone number of anybody'),
  agent,
  ...terms,
  message: Text(500).optional().describe('Shown to the person'),
  status: z
    .enum(invitationStatuses)
    .default('PENDING')
    .describe('How it stands when the world begins. ACCEPTED makes the grant, unless it is among customers'),
  cancelReason: z
    .enum(cancelReasons)
    .optional()
    .describe('Why it was canceled. Default, where it is CANCELED: DEVELOPER_REVOKED'),
  tags,
  createdAt: Moment.optional().describe('When it was sent. Default: when the world begins, or a day before it ended'),
  expiresAt: Moment.optional().describe('Until when it can be answered. Default: 30 days after it was sent'),
  endedAt: Moment.optional().describe(
    'When it was accepted, declined or canceled. Default: when the world begins; EXPIRED ends when it expires',
  ),
})

export const InvitationLink = z.strictObject({
  ref,
  id: FixedId('ivl'),
  name: Text(100).describe('What the party calls it'),
  proposedAgents: listOf(z.strictObject({ agent, ...terms }), 'agent').describe('What each agent is to be allowed'),
  token: LinkToken('its address, /connect/links/…'),
  status: z.enum(linkStatuses).default('ACTIVE').describe('How it stands when the world begins'),
  tags,
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working, also in the past. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked, where it is REVOKED. Default: when the world begins'),
})
