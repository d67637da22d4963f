import { z } from 'zod'
import { defineOperation } from '../src/operation.ts'
import { Id, listQuery, resource, Timestamp } from './schemas.ts'

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
          perTransaction: z.int().nullable().optional(),
          perDay: z.int().nullable().optional(),
          perMonth: z.int().nullable().optional(),
        })
        .nullable(),
    }),
  ),
})

export const listCustomers = defineOperation({
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
  toolset: 'default',
  errors: [],
})
