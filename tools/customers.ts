import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { amountInCents } from '../src/core/schema-fields.ts'
import { AgentDelegationInvitation, noCustomerParty, Permissions } from './customer-invitations.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Text, Timestamp } from './schemas.ts'

const delegationStatuses = ['ACTIVE', 'REVOKED', 'EXPIRED', 'SUSPENDED'] as const

/**
 * A party that lets agents of the caller's party act for it, or did so earlier. Limits are in cents. Null means no
 * limit.
 */
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

/** The `meta` of a response if no agent of the caller's party can act for the customer any longer. */
const Disconnected = z.object({ deleted: z.literal(true) })

const params = z.strictObject({ customerId: ArgumentId('pty') })

const removal = {
  ...deleteOperation,
  output: Customer,
  permission: 'customers.remove',
  toolsets: ['customers'],
  errors: ['not_found'],
  extension: false,
} as const

const simulation = {
  ...removal,
  method: 'POST',
  environments: ['sandbox'],
  setsState: true,
  errors: ['not_found', 'conflict'],
} as const

const invitationSimulation = {
  ...writeOperation,
  environments: ['sandbox'],
  result: 'several',
  output: AgentDelegationInvitation,
  permission: 'customers.simulate',
  toolsets: ['customers'],
  extension: false,
} as const

const invitationAnswer = {
  ...invitationSimulation,
  result: 'one',
  params: z.strictObject({ invitationId: ArgumentId('adi') }),
  attributes: z.strictObject({
    partyId: Id('pty')
      .optional()
      .describe('The invited party; omit if the invitation went to an email address or phone number'),
  }),
  bodyOptional: true,
  setsState: true,
  errors: ['not_found', 'conflict'],
} as const

export const customers = {
  listCustomers: defineOperation({
    ...readOperation,
    result: 'page',
    name: 'list_customers',
    title: 'List connected customers',
    description: 'Lists customers. To act for one, pass its id as customerPartyId.',
    path: '/customers',
    query: listQuery(
      { status: z.enum(['active', 'revoked', 'all']).default('active').describe('Only this status') },
      20,
    ),
    unlisted: ['status'],
    output: Customer,
    permission: 'customers.read',
    toolsets: ['default', 'customers'],
    errors: [],
    extension: false,
  }),

  getCustomer: defineOperation({
    ...readOperation,
    name: 'get_customer',
    title: 'Read a customer',
    description: 'Reads one current or former customer: its grant to each of your agents, with permissions and limits.',
    path: '/customers/{customerId}',
    params,
    output: Customer,
    permission: 'customers.read',
    toolsets: ['customers'],
    errors: ['not_found'],
    extension: false,
  }),

  removeCustomer: defineOperation({
    ...removal,
    name: 'remove_customer',
    title: 'Remove a customer',
    description:
      "Revokes all your agents' access to a customer. Only a new invitation reconnects them. For one agent: remove_customer_agent.",
    path: '/customers/{customerId}',
    params,
    meta: Disconnected,
  }),

  removeCustomerAgent: defineOperation({
    ...removal,
    idempotency: 'ignored',
    name: 'remove_customer_agent',
    title: 'Remove an agent from a customer',
    description:
      "Revokes one agent's access to a customer; your other agents keep theirs. meta.deleted means that it was the last agent.",
    path: '/customers/{customerId}/agents/{agentId}',
    params: z.strictObject({ customerId: ArgumentId('pty'), agentId: ArgumentId('agt') }),
    meta: Disconnected.partial(),
  }),

  simulateCustomerInvitation: defineOperation({
    ...invitationSimulation,
    name: 'simulate_customer_invitation',
    title: 'Invite a test customer',
    description:
      'Creates a test customer (meta.customer) with an invitation from each agent. Next: simulate_invitation_acceptance.',
    path: '/simulations/invite-customer',
    attributes: z.strictObject({
      agentIds: z.array(Id('agt')).min(1).max(20).describe('agt_… of the inviting agents'),
      permissions: Permissions.optional(),
      type: z.enum(['PERSON', 'ORG']).default('PERSON').describe('A person or a company'),
      message: Text(500).describe('Shown to the customer').optional(),
    }),
    meta: z.object({
      customer: z.object({ partyId: Id('pty'), handle: z.string(), partyType: z.enum(['PERSON', 'ORG']) }),
    }),
    errors: ['not_found'],
    example: { relationships: noCustomerParty },
  }),

  simulateInvitationAcceptance: defineOperation({
    ...invitationAnswer,
    name: 'simulate_invitation_acceptance',
    title: 'Accept an invitation as the customer',
    description:
      'Accepts an invitation as a customer who has no credentials. The agent can now act for them with their id as customerPartyId.',
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
    description: 'Declines an invitation as a person who has no credentials: nothing is granted.',
    path: '/simulations/customer-invitations/{invitationId}/decline',
    example: {
      attributes: {
        status: 'DECLINED',
        effectiveStatus: 'DECLINED',
        cancelReason: null,
        declinedAt: '2026-01-02T03:04:05.678Z',
      },
      relationships: noCustomerParty,
    },
  }),

  simulateAgentRevocation: defineOperation({
    ...simulation,
    name: 'simulate_agent_revocation',
    title: 'Revoke an agent as the customer',
    description:
      "Revokes one agent's access, as a customer who has no credentials. meta.deleted means that it was the last agent.",
    path: '/simulations/customers/{customerId}/agents/{agentId}/revoke',
    params: z.strictObject({ customerId: ArgumentId('pty'), agentId: ArgumentId('agt') }),
    meta: Disconnected.partial(),
    permission: 'customers.simulate',
  }),

  simulateCustomerDisconnection: defineOperation({
    ...simulation,
    name: 'simulate_customer_disconnection',
    title: 'Disconnect as the customer',
    description: "Revokes all your agents' access, as a customer who has no credentials.",
    path: '/simulations/customers/{customerId}/disconnect',
    params,
    meta: Disconnected,
  }),
} as const
