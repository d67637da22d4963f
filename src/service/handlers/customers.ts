import type { z } from 'zod'
import type { Customer } from '../../../tools/customers.ts'
import { timestamp } from '../../system.ts'
import type { Handler } from '../handler.ts'
import { page, pageRequest } from '../pagination.ts'
import { type CustomerRecord, listCustomers as customersOf } from '../store/parties.ts'

type CustomerResource = z.output<typeof Customer>
type Limits = CustomerResource['attributes']['agents'][number]['limits']

export const listCustomers: Handler<'listCustomers'> = async (input, { tx, actor }) => {
  const scope = { partyId: actor.partyId, agentId: actor.agentId, status: input.status }
  const list = { list: 'customers', ...scope }
  return page(await customersOf(tx, scope, pageRequest(input, list)), list, customerView)
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
