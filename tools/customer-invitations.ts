import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { delegable } from '../src/core/permissions.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Cents, Id, listQuery, resource, Text, Timestamp, toOne } from './schemas.ts'

export const invitationStatuses = ['PENDING', 'ACCEPTED', 'DECLINED', 'EXPIRED', 'CANCELED'] as const

export const cancelReasons = [
  'AGENT_RETIRED',
  'DEVELOPER_RETIRED',
  'DEVELOPER_REVOKED',
  'CONNECTION_ESTABLISHED',
] as const

/** The limits that a customer sets on the spending of an agent, in cents. Null or absent means no limit. */
export const Limits = z.object({
  perTransaction: Cents.nullable().describe('Limit per payment in cents; null: no limit').optional(),
})
export const Permissions = z
  .array(z.enum(delegable))
  .min(1)
  .max(delegable.length)
  .describe('e.g. payments.create, payments.read, wallets.read, cards.read')
export const SentLimits = z.strictObject(Limits.shape).describe("The agent's spending limits")
/** The inviting party's notes on an invitation. */
export const Tags = z
  .record(z.string().min(1).max(100), z.string().max(500).describe('Tag text'))
  .describe('Your own notes')
/** Details that could prefill a new customer's account. The service accepts them but does not store them. */
const hints = {
  accountType: z.enum(['individual', 'business']).describe('Person or company').optional(),
  firstName: z.string().describe('Given name').optional(),
  lastName: z.string().describe('Family name').optional(),
  phone: z.string().describe('With the country code').optional(),
  individual: z.record(z.string(), z.unknown()).describe('Other details of a person').optional(),
  business: z.record(z.string(), z.unknown()).describe('Other details of a company').optional(),
}
const recipient = {
  type: z.enum(['email', 'phone', 'party_id']).describe('Kind of value'),
  value: z.string().min(1).max(320).describe('Such as ann@example.com'),
}
export const Recipient = z.object(recipient)
export const Recipients = z
  .array(z.strictObject({ ...recipient, ...hints }))
  .min(1)
  .max(50)
  .describe('People to invite')

/** An invitation that asks one recipient to grant one agent access (docs/service.md#invitation). */
export const AgentDelegationInvitation = resource(
  'agentDelegationInvitation',
  Id('adi'),
  {
    developerName: z.string(),
    email: z.string().nullable(),
    phone: z.string().nullable(),
    url: z.url(),
    agentName: z.string(),
    permissions: z.array(z.string()),
    limits: Limits.nullable(),
    status: z.enum(invitationStatuses),
    effectiveStatus: z.enum(invitationStatuses),
    expiresAt: Timestamp,
    acceptedAt: Timestamp.nullable(),
    declinedAt: Timestamp.nullable(),
    cancelReason: z.enum(cancelReasons).nullable(),
    tags: z.record(z.string(), z.string()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { agent: toOne('agent', 'agt'), customerParty: toOne('party', 'pty') },
)

/** The pending invitations of one recipient. The id is the recipient's email address, phone number or party id. */
export const CustomerInvitationGroup = resource('customerInvitation', z.string(), {
  status: z.enum(invitationStatuses),
  party: z
    .object({
      id: Id('pty'),
      name: z.string(),
      email: z.string().nullable(),
      avatarUrl: z.string().nullable(),
      createdAt: Timestamp.nullable(),
    })
    .nullable(),
  email: z.string().nullable(),
  createdAt: Timestamp,
  agentInvitations: z.array(
    z.object({
      invitationId: Id('adi'),
      agent: z.object({ id: Id('agt'), name: z.string().nullable(), handle: z.string().nullable() }),
      permissions: z.array(z.string()),
      url: z.url(),
      createdAt: Timestamp,
      expiresAt: Timestamp.nullable(),
      tags: z.record(z.string(), z.string()),
    }),
  ),
})

const invitation = {
  toolsets: ['customers'],
  extension: false,
} as const

/** The relationships of an invitation that nobody has accepted. */
export const noCustomerParty = { customerParty: { data: null } } as const

export const customerInvitations = {
  createCustomerInvitation: defineOperation({
    ...invitation,
    ...writeOperation,
    result: 'several',
    idempotency: 'ignored',
    name: 'create_customer_invitation',
    title: 'Invite customers',
    description:
      'Invites each recipient to grant each agent permissions. Send them the url, where they accept or decline. meta lists failed recipients and those already connected. For one agent: create_agent_customer_invitation.',
    answers: 201,
    path: '/customers/invitations',
    attributes: z.strictObject({
      recipients: Recipients,
      agents: z
        .array(
          z.strictObject({
            agentId: ArgumentId('agt'),
            permissions: Permissions,
            limits: SentLimits.nullable().optional(),
          }),
        )
        .min(1)
        .max(20)
        .describe('Agents, each with the permissions to ask for'),
      expiresAt: Timestamp.optional().describe('Default: in 30 days; at most 90 days'),
      message: Text(500).optional().describe('Shown to the recipient'),
      tags: Tags.optional(),
      disableNotifications: z.boolean().describe('Send no emails').optional(),
    }),
    output: AgentDelegationInvitation,
    meta: z.object({
      failedRecipients: z.array(z.object({ recipient: Recipient, reason: z.string() })),
      alreadyConnected: z.array(z.object({ recipient: Recipient, agentId: Id('agt'), agentDelegationId: Id('dlg') })),
    }),
    permission: 'customers.invite',
    adds: true,
    errors: ['not_found', 'conflict'],
    example: { relationships: noCustomerParty },
  }),

  listCustomerInvitations: defineOperation({
    ...invitation,
    ...readOperation,
    result: 'page',
    name: 'list_customer_invitations',
    title: 'List pending invitations',
    description: 'Lists pending invitations, grouped by recipient. All invitations: list_agent_invitations.',
    path: '/customers/invitations',
    query: listQuery({}),
    output: CustomerInvitationGroup,
    permission: 'customers.read',
    errors: [],
  }),

  revokeCustomerInvitation: defineOperation({
    ...invitation,
    ...deleteOperation,
    idempotency: 'ignored',
    name: 'revoke_customer_invitation',
    title: 'Revoke an invitation',
    description: 'Takes back an unanswered invitation: its url stops working.',
    path: '/customers/invitations/{invitationId}',
    params: z.strictObject({ invitationId: ArgumentId('adi') }),
    output: AgentDelegationInvitation,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'invitations.revoke',
    toolsets: ['default', 'customers'],
    agentHeader: true,
    errors: ['not_found', 'conflict'],
    example: {
      attributes: { status: 'CANCELED', effectiveStatus: 'CANCELED', cancelReason: 'DEVELOPER_REVOKED' },
      relationships: noCustomerParty,
    },
  }),
} as const
