import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import {
  AgentDelegationInvitation,
  invitationStatuses,
  Limits,
  Permissions,
  Recipient,
  Recipients,
  SentLimits,
  Tags,
} from './customer-invitations.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/** Returns the schema of a relationship to one agent, which includes the given attributes of the agent. */
function toAgent<S extends z.ZodRawShape>(attributes: S) {
  return z.object({
    data: z.object({ type: z.literal('agent'), id: Id('agt'), attributes: z.object(attributes) }),
  })
}

/**
 * A party that granted an agent access, or a recipient who was invited to grant access. The id is the party's id, or
 * the email address or phone number to which the invitation was sent.
 */
export const AgentCustomer = resource(
  'customer',
  z.string(),
  {
    name: z.string().nullable(),
    email: z.string().nullable(),
    status: z.enum(['ACTIVE', 'REVOKED', ...invitationStatuses]),
    permissions: z.array(z.string()),
    limits: Limits.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp.nullable(),
  },
  { agent: toAgent({ name: z.string().nullable() }) },
)

/** A new invitation for one agent, as returned by `createAgentCustomerInvitation`. */
export const AgentCustomerInvite = resource(
  'customerInvitation',
  Id('adi'),
  {
    recipient: Recipient,
    url: z.url(),
    status: z.enum(['ACTIVE', 'REVOKED', ...invitationStatuses]),
    permissions: z.array(z.string()),
    limits: Limits.nullable(),
    tags: z.record(z.string(), z.string()),
    expiresAt: Timestamp,
    createdAt: Timestamp,
    updatedAt: Timestamp.nullable(),
  },
  {
    agent: toAgent({ name: z.string().nullable(), description: z.string().nullable(), status: z.string() }),
    customerParty: toOne('party', 'pty'),
  },
)

const common = {
  toolsets: ['agents'],
  extension: false,
} as const

const params = z.strictObject({ agentId: ArgumentId('agt') })

export const agentCustomers = {
  listAgentInvitations: defineOperation({
    ...common,
    ...readOperation,
    result: 'page',
    name: 'list_agent_invitations',
    title: 'List invitations',
    description:
      'Lists all customer invitations, pending or not, newest first. Only pending ones, grouped by recipient: list_customer_invitations.',
    path: '/agents/invitations',
    query: listQuery({
      status: z
        .union([z.enum(invitationStatuses), z.array(z.enum(invitationStatuses)).max(invitationStatuses.length)])
        .describe('Only this status, or any of these')
        .optional(),
      customerEmail: z.string().max(320).describe('Only to this email address').optional(),
      agentId: ArgumentId('agt', 'Only for this agent').optional(),
    }),
    output: AgentDelegationInvitation,
    permission: 'customers.read',
    errors: [],
  }),

  revokeAgentInvitation: defineOperation({
    ...common,
    ...deleteOperation,
    name: 'revoke_agent_invitation',
    title: 'Revoke an invitation',
    description:
      'Revokes an invitation like revoke_customer_invitation, but takes an idempotencyKey, so that a retry gets the same answer.',
    path: '/agents/invitations/{invitationId}',
    params: z.strictObject({ invitationId: ArgumentId('adi') }),
    output: AgentDelegationInvitation,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'invitations.revoke',
    errors: ['not_found', 'conflict'],
  }),

  listAgentCustomers: defineOperation({
    ...common,
    ...readOperation,
    result: 'page',
    name: 'list_agent_customers',
    title: "List an agent's customers",
    description:
      "Lists one agent's customers, then the people it invited who are not customers. For all agents: list_customers.",
    path: '/agents/{agentId}/customers',
    params,
    query: listQuery({}),
    output: AgentCustomer,
    permission: 'customers.read',
    errors: ['not_found'],
  }),

  createAgentCustomerInvitation: defineOperation({
    ...common,
    ...writeOperation,
    result: 'several',
    name: 'create_agent_customer_invitation',
    title: 'Invite customers for an agent',
    description:
      'Invites people to grant one agent permissions. Send each person their url. For several agents: create_customer_invitation.',
    path: '/agents/{agentId}/customers',
    params,
    attributes: z.strictObject({
      recipients: Recipients,
      permissions: Permissions,
      limits: SentLimits.nullable().optional(),
      expiresAt: Timestamp.optional().describe('Default: in 7 days; at most 90 days'),
      tags: Tags.optional(),
    }),
    output: AgentCustomerInvite,
    meta: z.object({
      emailFailures: z.array(Id('adi')),
      alreadyConnected: z.array(z.object({ recipient: Recipient, agentId: Id('agt'), agentDelegationId: Id('dlg') })),
    }),
    permission: 'customers.invite',
    adds: true,
    errors: ['not_found'],
  }),

  removeAgentCustomer: defineOperation({
    ...common,
    ...deleteOperation,
    name: 'remove_agent_customer',
    title: 'Remove a customer from an agent',
    description: "Revokes an agent's access to a customer, like remove_customer_agent, and returns the revoked access.",
    path: '/agents/{agentId}/customers/{customerId}',
    params: z.strictObject({ agentId: ArgumentId('agt'), customerId: ArgumentId('pty') }),
    output: AgentCustomer,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'customers.remove',
    errors: ['not_found'],
  }),
} as const
