import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { amountInCents } from '../src/core/schema-fields.ts'
import { paymentOperation, readOperation, simulationOperation } from './kinds.ts'
import { actingParty } from './payments.ts'
import { ArgumentId, Cents, Currency, Id, listQuery, resource, Text, Timestamp, WaitSeconds } from './schemas.ts'

export const approvalStatuses = ['pending', 'approved', 'denied', 'canceled'] as const
export const limitTypes = ['perTransactionAmount', 'dailyAmount', 'monthlyAmount'] as const

/**
 * Returns the path of the page where a person approves or denies a payment or transfer. The path is relative to the
 * service's public address.
 */
export function approvalPagePath(approvalId: string): string {
  return `/approvals/${approvalId}/review`
}

const amount = z.object({ amount: Cents, currency: Currency })

/** A person's review of a payment or transfer (docs/service.md#approval). Amounts are in cents. */
export const Approval = resource('approval', Id('apr'), {
  status: z.enum(approvalStatuses),
  target: z.object({ type: z.enum(['payment', 'deposit', 'withdrawal', 'ach', 'realtime']), id: z.string() }),
  payment: amount.nullable(),
  reasons: z.array(
    z.object({
      type: z.literal('limitExceeded'),
      limitType: z.enum(limitTypes),
      limitAmount: amountInCents(z.int()),
      actualAmount: amountInCents(z.int()),
      currency: Currency,
    }),
  ),
  customer: z.object({ id: Id('pty'), name: z.string().nullable() }).nullable(),
  ach: z.null(),
  realtime: z.null(),
  wire: z.object({ beneficiaryName: z.string(), accountDisplayMask: z.string() }).nullable(),
  initiator: z
    .object({
      actorType: z.enum(['agent', 'user', 'api', 'service', 'internalAdmin']),
      agent: z
        .object({
          id: Id('agt'),
          name: z.string().nullable(),
          owner: z.object({ partyId: Id('pty'), name: z.string() }).nullable(),
        })
        .nullable(),
    })
    .nullable(),
  denialReason: z.string().nullable(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  resolvedAt: Timestamp.nullable(),
})

const approvalParams = z.strictObject({ approvalId: ArgumentId('apr') })

const read = {
  ...readOperation,
  output: Approval,
  permission: 'payments.read',
  toolsets: ['default'],
  extension: false,
} as const

const decision = {
  ...paymentOperation,
  params: approvalParams,
  output: Approval,
  permission: 'payments.create',
  setsState: true,
  toolsets: ['default'],
  errors: ['not_found', 'conflict'],
  extension: false,
} as const

const simulatedDecision = {
  ...decision,
  ...simulationOperation,
  permission: 'customers.simulate',
  toolsets: ['customers'],
  extension: true,
} as const

const underReview = {
  target: { type: 'payment', id: 'pay_0198a1b2c3d40123456789abcdef0123' },
  payment: { amount: 4_250, currency: 'USD' },
  customer: null,
  reasons: [
    {
      type: 'limitExceeded',
      limitType: 'perTransactionAmount',
      limitAmount: 4_000,
      actualAmount: 4_250,
      currency: 'USD',
    },
  ],
  resolvedAt: null,
} as const
const resolvedAt = '2026-01-02T03:04:05.678Z'
const approved = { ...underReview, status: 'approved', resolvedAt } as const
const denied = { ...underReview, status: 'denied', denialReason: 'Not this one.', resolvedAt } as const
const customer = { id: 'pty_0198a1b2c3d40123456789abcdef0123', name: 'Sandbox Customer' } as const

export const approvals = {
  listApprovals: defineOperation({
    ...read,
    result: 'page',
    name: 'list_approvals',
    title: 'List approvals',
    description: 'Lists payments and wires in review, and past decisions.',
    path: '/approvals',
    query: listQuery({ status: z.enum(approvalStatuses).describe('Only this status').optional(), ...actingParty }),
    errors: [],
    example: { attributes: underReview },
  }),

  getApproval: defineOperation({
    ...read,
    name: 'get_approval',
    title: 'Read an approval',
    description: 'Reads a review: exceeded limit, requester and decision. Payment status: get_payment.',
    path: '/approvals/{approvalId}',
    params: approvalParams,
    query: z.strictObject({ ...actingParty, waitSeconds: WaitSeconds }),
    errors: ['not_found'],
    example: { attributes: underReview },
  }),

  approveApproval: defineOperation({
    ...decision,
    name: 'approve_approval',
    title: 'Approve a payment',
    description:
      'Approves a payment in review: money moves now. Only if the person says so; not if an agent requested it.',
    path: '/approvals/{approvalId}/approve',
    errors: ['not_found', 'conflict', 'mfa_required', 'not_implemented', 'bad_gateway', 'invalid_value'],
    example: { attributes: approved },
  }),

  denyApproval: defineOperation({
    ...decision,
    name: 'deny_approval',
    title: 'Deny a payment',
    description: 'Denies a payment in review: it is never paid.',
    path: '/approvals/{approvalId}/deny',
    attributes: z.strictObject({ reason: Text(500).describe('For the requester').optional() }),
    bodyOptional: true,
    example: { attributes: denied },
  }),

  simulateCustomerApproval: defineOperation({
    ...simulatedDecision,
    name: 'simulate_customer_approval',
    title: 'Approve as the customer',
    description: 'Approves a payment in review, as a customer who has no credentials: money leaves their wallet now.',
    path: '/simulations/approvals/{approvalId}/approve',
    example: { attributes: { ...approved, customer } },
  }),

  simulateCustomerDenial: defineOperation({
    ...simulatedDecision,
    name: 'simulate_customer_denial',
    title: 'Deny as the customer',
    description: 'As a customer who has no credentials, denies a payment in review: it is never paid.',
    path: '/simulations/approvals/{approvalId}/deny',
    attributes: z.strictObject({ reason: Text(500).describe('For the requester').optional() }),
    bodyOptional: true,
    example: { attributes: { ...denied, customer } },
  }),
} as const
