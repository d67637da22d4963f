import type { z } from 'zod'
import type { Customer, customers } from '../../../tools/customers.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requireSimulatable } from '../request/simulated-party.ts'
import { defaultInvitationDays } from '../rules/customer-invitations.ts'
import type { InvitationRecord } from '../store/customer-invitations.ts'
import { type CustomerRecord, findCustomer, listCustomers, revokeDelegations } from '../store/delegations.ts'
import { partyOfRecipient } from '../store/parties.ts'
import { invitationView, invitationViews, loadInvitation } from './customer-invitations.ts'
import {
  acceptInvitation,
  declineInvitation,
  findOrCreateInvitedParty,
  joinAsTestCustomer,
  recipientOf,
} from './steps/answer-invitations.ts'
import { expiry, inviteAll, loadAgents } from './steps/send-invitations.ts'

type CustomerResource = z.output<typeof Customer>
type Limits = CustomerResource['attributes']['agents'][number]['limits']

/** The permissions that an invitation of a test customer requests by default. */
const defaultPermissions = ['payments.create', 'payments.read', 'wallets.read'] as const

export const customerHandlers = {
  listCustomers: async (input, { tx, actor }) => {
    const scope = { partyId: actor.partyId, agentId: actor.agentId, status: input.status }
    const list = { list: 'customers', ...scope }
    return page(await listCustomers(tx, scope, pageRequest(input, list)), list, customerView)
  },

  getCustomer: async ({ customerId }, context) => customerView(await loadCustomer(context, customerId)),

  removeCustomer: async ({ customerId }, context) => disconnect(context, await loadCustomer(context, customerId)),

  removeCustomerAgent: async ({ customerId, agentId }, context) =>
    removeAgent(context, await loadCustomer(context, customerId), agentId),

  simulateCustomerInvitation: async (input, context) => {
    const { system, nowMs } = context
    const agents = await loadAgents(context, input.agentIds, (index) => `agentIds/${index}`)
    const partyId = newId('pty', system, nowMs)
    const { handle, email } = await joinAsTestCustomer(context, partyId, input.type)
    const requests = agents.map((agent) => ({ agent, permissions: input.permissions ?? defaultPermissions }))
    const terms = { message: input.message, expiresAtMs: expiry(undefined, nowMs, defaultInvitationDays) }
    const { invitations } = await inviteAll(context, [{ type: 'email', value: email }], requests, terms)
    return {
      data: await invitationViews(context, invitations),
      meta: { customer: { partyId, handle: `@${handle}`, partyType: input.type } },
    }
  },

  simulateInvitationAcceptance: async (input, context) => {
    const invitation = await loadForSimulation(context, input)
    const customer = await findOrCreateInvitedParty(context, invitation)
    return invitationView(context, await acceptInvitation(context, invitation, customer))
  },

  simulateInvitationDecline: async (input, context) =>
    invitationView(context, await declineInvitation(context, await loadForSimulation(context, input))),

  /** Revokes an agent's access in the customer's name. The effect is the same as that of `removeCustomerAgent`. */
  simulateAgentRevocation: async (input, context) => {
    const customer = await loadCustomer(context, input.customerId)
    await requireSimulatable(context, input.customerId, {
      call: 'To end the access from your side, send remove_customer_agent with an API key of your party.',
    })
    return removeAgent(context, customer, input.agentId)
  },

  simulateCustomerDisconnection: async (input, context) => {
    const customer = await loadCustomer(context, input.customerId)
    await requireSimulatable(context, input.customerId, {
      call: 'To end the connection from your side, send remove_customer with an API key of your party.',
    })
    return disconnect(context, customer)
  },
} satisfies HandlersOf<typeof customers>

/** Disconnects a customer. A customer who is already disconnected is returned unchanged. */
async function disconnect(context: Context, { party: { id: customerId } }: CustomerRecord) {
  const { tx, actor, nowMs } = context
  await revokeDelegations(tx, { agentPartyId: actor.partyId, customerPartyId: customerId }, nowMs)
  return { data: customerView(await loadCustomer(context, customerId)), meta: { deleted: true as const } }
}

/**
 * Ends one agent's access to a customer. Returns `deleted: true` only if no other agent of the caller's party has
 * access.
 */
async function removeAgent(context: Context, { party, delegations }: CustomerRecord, agentId: string) {
  const { tx, actor, nowMs } = context
  const customerId = party.id
  if (!delegations.some((grant) => grant.agentId === agentId)) {
    fail('not_found', { detail: `The customer ${customerId} never granted access to an agent ${agentId}.` })
  }
  await revokeDelegations(tx, { agentPartyId: actor.partyId, customerPartyId: customerId, agentId }, nowMs)
  const after = await findCustomer(tx, { partyId: actor.partyId, agentId: null, status: 'all' }, customerId)
  const connected = after?.delegations.some((grant) => grant.status === 'ACTIVE') === true
  const data = customerView(await loadCustomer(context, customerId))
  return { data, meta: connected ? {} : { deleted: true as const } }
}

/**
 * Returns a current or former customer of the caller's party. An agent sees only customers who granted it access.
 * @throws 404 for any other party.
 */
async function loadCustomer({ tx, actor }: Context, customerId: string): Promise<CustomerRecord> {
  const scope = { partyId: actor.partyId, agentId: actor.agentId, status: 'all' } as const
  const customer = await findCustomer(tx, scope, customerId)
  if (customer === undefined) fail('not_found', { detail: `There is no customer ${customerId}.` })
  return customer
}

/**
 * Renders all grants of a customer as one connection. The connection was created with the first grant, and is active as
 * long as at least one grant is active.
 */
function customerView({ party, delegations }: CustomerRecord): CustomerResource {
  const first = delegations[0]
  if (first === undefined) throw new Error(`Bug: the customer ${party.id} has no grants.`)
  const current = delegations.find((grant) => grant.status === 'ACTIVE') ?? first
  return {
    type: 'customer',
    id: party.id,
    attributes: {
      name: party.displayName,
      email: party.email,
      avatarUrl: null,
      createdAt: timestamp(party.createdAtMs),
      delegation: {
        id: current.id,
        status: current.status,
        permissions: [...new Set(delegations.flatMap(({ permissions }) => JSON.parse(permissions) as string[]))],
        createdAt: timestamp(first.createdAtMs),
        revokedAt: current.revokedAtMs === null ? null : timestamp(current.revokedAtMs),
      },
      agents: delegations.map((grant) => ({
        id: grant.agentId,
        name: grant.agentName,
        handle: grant.agentHandle,
        status: grant.status,
        permissions: JSON.parse(grant.permissions) as string[],
        limits: grant.limits === null ? null : (JSON.parse(grant.limits) as Limits),
      })),
    },
  }
}

/**
 * Loads an invitation whose recipient the caller may simulate. If `partyId` is given, it must be the recipient's id.
 * @throws 404 if the caller may not see the invitation, 422 if `partyId` is not the recipient's id, 409 if the caller
 * may not simulate the recipient.
 */
async function loadForSimulation(
  context: Context,
  { invitationId, partyId }: { invitationId: string; partyId?: string | undefined },
): Promise<InvitationRecord> {
  const invitation = await loadInvitation(context, invitationId)
  const invited = await partyOfRecipient(context.tx, recipientOf(invitation))
  if (partyId !== undefined && invited?.id !== partyId)
    failAttribute('partyId', 'partyId must be the party that the invitation is addressed to.')
  await requireSimulatable(context, invited?.id, { page: "at the invitation's url" })
  return invitation
}
