import type { z } from 'zod'
import type { Customer } from '../../../tools/customers.ts'
import { fail } from '../../core/errors.ts'
import { timestamp } from '../../core/system.ts'
import type { Context, Handler } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { revokeDelegations } from '../store/delegations.ts'
import { type CustomerRecord, listCustomers as customersOf, findCustomer } from '../store/parties.ts'

type CustomerResource = z.output<typeof Customer>
type Limits = CustomerResource['attributes']['agents'][number]['limits']

export const listCustomers: Handler<'listCustomers'> = async (input, { tx, actor }) => {
  const scope = { partyId: actor.partyId, agentId: actor.agentId, status: input.status }
  const list = { list: 'customers', ...scope }
  return page(await customersOf(tx, scope, pageRequest(input, list)), list, customerView)
}

export const getCustomer: Handler<'getCustomer'> = async ({ customerId }, context) =>
  customerView(await loadCustomer(context, customerId))

export const removeCustomer: Handler<'removeCustomer'> = async ({ customerId }, context) => ({
  data: await disconnect(context, customerId),
  meta: { deleted: true },
})

export const removeCustomerAgent: Handler<'removeCustomerAgent'> = async (input, context) =>
  dropAgent(context, input.customerId, input.agentId)

/** The customer does by itself what the developer can do too; to the agent it is the same. */
export const simulateAgentRevocation: Handler<'simulateAgentRevocation'> = async (input, context) =>
  dropAgent(context, input.customerId, input.agentId)

export const simulateCustomerDisconnection: Handler<'simulateCustomerDisconnection'> = async (input, context) => ({
  data: await disconnect(context, input.customerId),
  meta: { deleted: true },
})

/** A customer that is disconnected already is answered as it is. */
async function disconnect(context: Context, customerId: string): Promise<CustomerResource> {
  const { tx, actor, nowMs } = context
  await loadCustomer(context, customerId)
  await revokeDelegations(tx, { agentPartyId: actor.partyId, customerPartyId: customerId }, nowMs)
  return customerView(await loadCustomer(context, customerId))
}

/** Says `deleted` when no agent is left. */
async function dropAgent(context: Context, customerId: string, agentId: string) {
  const { tx, actor, nowMs } = context
  const { delegations } = await loadCustomer(context, customerId)
  if (!delegations.some((grant) => grant.agentId === agentId)) {
    fail('not_found', { detail: `The customer ${customerId} granted nothing to an agent ${agentId}.` })
  }
  await revokeDelegations(tx, { agentPartyId: actor.partyId, customerPartyId: customerId, agentId }, nowMs)
  const after = await findCustomer(tx, { partyId: actor.partyId, agentId: null, status: 'all' }, customerId)
  const connected = after?.delegations.some((grant) => grant.status === 'ACTIVE') === true
  const data = customerView(await loadCustomer(context, customerId))
  return { data, meta: connected ? {} : { deleted: true as const } }
}

/** A customer of the caller's, a former one too; to an agent, one that granted it something. @throws 404. */
async function loadCustomer({ tx, actor }: Context, customerId: string): Promise<CustomerRecord> {
  const scope = { partyId: actor.partyId, agentId: actor.agentId, status: 'all' } as const
  const customer = await findCustomer(tx, scope, customerId)
  if (customer === undefined) fail('not_found', { detail: `There is no customer ${customerId}.` })
  return customer
}

/** The connection as a whole is as old as its first grant, and active while one of its grants is. */
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
