import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { Limits, Permissions, SentLimits } from './customer-invitations.ts'
import { readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Tags, Text, Timestamp, toOne } from './schemas.ts'

export const linkStatuses = ['ACTIVE', 'REVOKED'] as const

const attributes = {
  name: z.string(),
  status: z.enum(linkStatuses),
  proposedAgents: z.array(
    z.object({ agentId: Id('agt'), permissions: z.array(z.string()), limits: Limits.nullable() }),
  ),
  expiresAt: Timestamp.nullable(),
  tags: z.record(z.string(), z.string()),
  createdAt: Timestamp,
}
const relationships = { delegateeParty: toOne('party', 'pty') }

/** A link through which anyone who has it can become a customer. */
export const InvitationLink = resource(
  'invitationLink',
  Id('ivl'),
  { ...attributes, maskedToken: z.string() },
  relationships,
)
/** A new link, in the response to its creation. No other response contains the token, or the URL with the token. */
export const CreatedInvitationLink = resource(
  'invitationLink',
  Id('ivl'),
  {
    ...attributes,
    token: secret(z.string().describe('Secret, shown once')),
    url: secret(z.url().describe('Shown once')),
  },
  relationships,
)

const shared = {
  output: InvitationLink,
  toolsets: ['customers'],
  extension: false,
} as const

const linkParams = z.strictObject({ linkId: ArgumentId('ivl') })

const token = 'Xk3v0pQm7sJ1cY8nRw2eTz5bUa9hLd4gVf6iKo0_-xM'
const activeExample = { attributes: { status: 'ACTIVE' } } as const

export const invitationLinks = {
  listInvitationLinks: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_invitation_links',
    title: 'List invitation links',
    description: 'Lists the links through which anyone can connect to your agents, newest first, without their tokens.',
    path: '/customers/invitation-links',
    query: listQuery({ statusFilter: z.enum(linkStatuses).describe('Only this status').optional() }),
    permission: 'invitation_links.read',
    errors: [],
    example: activeExample,
  }),

  createInvitationLink: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    name: 'create_invitation_link',
    title: 'Create an invitation link',
    description:
      'Creates a link through which anyone can connect to your agents. Its url is shown only once. To invite one person: create_customer_invitation.',
    path: '/customers/invitation-links',
    attributes: z.strictObject({
      name: Text(100).describe('A label for your own use'),
      proposedAgents: z
        .array(
          z.strictObject({
            agentId: ArgumentId('agt'),
            permissions: Permissions,
            limits: SentLimits.nullable().optional(),
          }),
        )
        .min(1)
        .max(20)
        .describe('Agents, and the permissions to request for each'),
      expiresAt: Timestamp.optional().describe('Default: never'),
      tags: Tags.optional(),
    }),
    output: CreatedInvitationLink,
    permission: 'invitation_links.create',
    adds: true,
    errors: ['not_found', 'conflict'],
    example: { attributes: { status: 'ACTIVE', token, url: `http://127.0.0.1:4010/connect/links/${token}` } },
  }),

  getInvitationLink: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_invitation_link',
    title: 'Read an invitation link',
    description:
      'Reads one invitation link, without its token: its agents, their permissions, and whether it still works.',
    path: '/customers/invitation-links/{linkId}',
    params: linkParams,
    permission: 'invitation_links.read',
    errors: ['not_found'],
    example: activeExample,
  }),

  revokeInvitationLink: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    effect: 'destructive',
    name: 'revoke_invitation_link',
    title: 'Revoke an invitation link',
    description:
      'Revokes an invitation link for good. Customers who used it stay connected; to remove one: remove_customer.',
    path: '/customers/invitation-links/{linkId}/revoke',
    params: linkParams,
    permission: 'invitation_links.revoke',
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: { attributes: { status: 'REVOKED' } },
  }),
} as const
