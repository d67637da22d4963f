import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { amountInCents } from '../src/core/schema-fields.ts'
import { AgentDelegationInvitation, Permissions, unanswered } from './customer-invitations.ts'
import { Id, listQuery, resource, Text, Timestamp } from './schemas.ts'

const delegationStatuses = ['ACTIVE', 'REVOKED', 'EXPIRED', 'SUSPENDED'] as const

/** A party that connected to this one and delegated to its agents. Limits in cents; null means no limit. */
export const Customer = resource('customer', Id('pty'), {
  name: z.string(),
  email: z.string().nullable(),
  avatarUrl: z.string().nullable(),
  createdAt: Timestamp.nullable(),
  delegation: z.object({
    id: Id('dlg'),
    status: z.enum(delegationStatuses),
    permissions: z.array(z.string()),
    createdAt: Timestamp,
    revokedAt: Timestamp.nullable(),
  }),
  agents: z.array(
    z.object({
      id: Id('agt'),
      name: z.string().nullable(),
      handle: z.string().nullable(),
      status: z.string(),
      permissions: z.array(z.string()),
      limits: z
        .object({
          perTransaction: amountInCents(z.int()).nullable().optional(),
          perDay: amountInCents(z.int()).nullable().optional(),
          perMonth: amountInCents(z.int()).nullable().optional(),
        })
        .nullable(),
    }),
  ),
})

/** `deleted` stands only in an answer after which nothing connects the customer and the party any more. */
const Ended = z.object({ deleted: z.literal(true) })

const params = z.strictObject({ customerId: Id('pty') })

const removal = {
  method: 'DELETE',
  output: Customer,
  result: 'one',
  environments: ['sandbox', 'production'],
  permission: 'customers.remove',
  instanceId: 'optional',
  effect: 'destructive',
  toolsets: ['customers'],
  errors: ['not_found'],
} as const

const simulation = {
  ...removal,
  method: 'POST',
  environments: ['sandbox'],
  idempotency: 'required',
  setsState: true,
} as const

const invitationSimulation = {
  method: 'POST',
  output: AgentDelegationInvitation,
  environments: ['sandbox'],
  permission: 'customers.simulate',
  idempotency: 'required',
  instanceId: 'optional',
  effect: 'write',
  toolsets: ['customers'],
} as const

const invitationAnswer = {
  ...invitationSimulation,
  params: z.strictObject({ invitationId: Id('adi') }),
  attributes: z.strictObject({
    partyId: Id('pty').optional().describe('The invited party; omit for whoever has the email address or phone number'),
  }),
  bodyOptional: true,
  result: 'one',
  setsState: true,
  errors: ['not_found', 'conflict'],
} as const

export const customers = {
  listCustomers: defineOperation({
    name: 'list_customers',
    title: 'List connected customers',
    description: 'Lists customers who connected to you; an id here is a customerPartyId elsewhere.',
    method: 'GET',
    path: '/customers',
    query: listQuery({ status: z.enum(['active', 'revoked', 'all']).default('active') }, 20),
    output: Customer,
    result: 'page',
    environments: ['sandbox', 'production'],
    permission: 'customers.read',
    idempotency: 'ignored',
    instanceId: 'optional',
    effect: 'read',
    toolsets: ['default', 'customers'],
    errors: [],
  }),

  getCustomer: defineOperation({
    name: 'get_customer',
    title: 'Read a customer',
    description: 'Reads a customer: its grant to each of your agents, with permissions and limits; a former one too.',
    method: 'GET',
    path: '/customers/{customerId}',
    params,
    output: Customer,
    result: 'one',
    environments: ['sandbox', 'production'],
    permission: 'customers.read',
    idempotency: 'ignored',
    instanceId: 'optional',
    effect: 'read',
    toolsets: ['customers'],
    errors: ['not_found'],
  }),

  removeCustomer: defineOperation({
    ...removal,
    name: 'remove_customer',
    title: 'Remove a customer',
    description: 'Ends what a customer granted to all of your agents. Only a new invitation connects it again.',
    path: '/customers/{customerId}',
    params,
    meta: Ended,
    idempotency: 'required',
  }),

  removeCustomerAgent: defineOperation({
    ...removal,
    name: 'remove_customer_agent',
    title: 'Remove an agent from a customer',
    description: 'Ends what a customer granted to one of your agents. meta.deleted: it was the last one.',
    path: '/customers/{customerId}/agents/{agentId}',
    params: z.strictObject({ customerId: Id('pty'), agentId: Id('agt') }),
    meta: Ended.partial(),
    idempotency: 'ignored',
  }),

  simulateCustomerInvitation: defineOperation({
    ...invitationSimulation,
    name: 'simulate_customer_invitation',
    title: 'Invite a test customer',
    description: 'Makes a test customer (meta.customer) with a pending invitation to each agent.',
    path: '/simulations/invite-customer',
    attributes: z.strictObject({
      agentIds: z.array(Id('agt')).min(1).max(20),
      permissions: Permissions.optional(),
      type: z.enum(['PERSON', 'ORG']).default('PERSON'),
      message: Text(500).optional(),
    }),
    result: 'several',
    meta: z.object({
      customer: z.object({ partyId: Id('pty'), handle: z.string(), partyType: z.enum(['PERSON', 'ORG']) }),
    }),
    errors: ['not_found'],
    example: { relationships: unanswered },
  }),

  simulateInvitationAcceptance: defineOperation({
    ...invitationAnswer,
    name: 'simulate_invitation_acceptance',
    title: 'Accept an invitation as the customer',
    description: 'The invited customer accepts: the agent gets the permissions and limits, and its id to act for.',
    path: '/simulations/customer-invitations/{invitationId}/accept',
    example: {
      attributes: {
        status: 'ACCEPTED',
        effectiveStatus: 'ACCEPTED',
        cancelReason: null,
        acceptedAt: '2026-01-02T03:04:05.678Z',
      },
    },
  }),

  simulateInvitationDecline: defineOperation({
    ...invitationAnswer,
    name: 'simulate_invitation_decline',
    title: 'Decline an invitation as the customer',
    description: 'The invited customer declines.',
    path: '/simulations/customer-invitations/{invitationId}/decline',
    example: {
      attributes: {
        status: 'DECLINED',
        effectiveStatus: 'DECLINED',
        cancelReason: null,
        declinedAt: '2026-01-02T03:04:05.678Z',
      },
      relationships: unanswered,
    },
  }),

  simulateAgentRevocation: defineOperation({
    ...simulation,
    name: 'simulate_agent_revocation',
    title: 'Revoke an agent as the customer',
    description: 'The customer ends what it granted to one of your agents. meta.deleted: it was the last one.',
    path: '/simulations/customers/{customerId}/agents/{agentId}/revoke',
    params: z.strictObject({ customerId: Id('pty'), agentId: Id('agt') }),
    meta: Ended.partial(),
    permission: 'customers.simulate',
  }),

  simulateCustomerDisconnection: defineOperation({
    ...simulation,
    name: 'simulate_customer_disconnection',
    title: 'Disconnect as the customer',
    description: 'The customer ends what it granted to all of your agents.',
    path: '/simulations/customers/{customerId}/disconnect',
    params,
    meta: Ended,
  }),
} as const
