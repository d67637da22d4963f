import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import {
  Cents,
  Currency,
  CustomerPartyId,
  cause,
  Description,
  Id,
  listQuery,
  RequestedCents,
  resource,
  Tags,
  Timestamp,
  toOne,
} from './schemas.ts'

export const paymentStatuses = [
  'CREATED',
  'PROCESSING',
  'PENDING_CLAIM',
  'IN_REVIEW',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'RETURNED',
  'APPROVAL_DENIED',
] as const

export const counterpartyTypes = ['email', 'phone', 'party_id', 'agent_id', 'handle'] as const

const attributes = {
  amount: Cents,
  currency: Currency,
  status: z.enum(paymentStatuses),
  description: z.string().nullable(),
  tags: z.record(z.string(), z.string()),
  ...cause,
  createdAt: Timestamp,
  updatedAt: Timestamp.nullable(),
}

const relationships = {
  sender: toOne('party', 'pty'),
  senderAgent: toOne('agent', 'agt'),
  recipient: toOne('party', 'pty'),
  recipientAgent: toOne('agent', 'agt'),
  customerParty: toOne('party', 'pty'),
  transaction: toOne('transaction', 'txn'),
  paymentRequest: toOne('paymentRequest', 'prq'),
}

/** Money from one party to another, or to somebody who still has to claim it. Amounts in cents. */
export const Payment = resource('payment', Id('pay'), attributes, relationships)

/** The payment as its creation answers it: with the link by which an unknown recipient takes the money. */
const CreatedPayment = resource(
  'payment',
  Id('pay'),
  { ...attributes, claimLink: secret(z.url().nullable()) },
  relationships,
)

const paymentParams = z.strictObject({ paymentId: Id('pay') })
/** The published client names the party in reads as `partyId`; both words mean the same. */
export const actingParty = { customerPartyId: CustomerPartyId, partyId: Id('pty').optional() }

const command = {
  method: 'POST',
  result: 'one',
  environments: ['sandbox', 'production'],
  permission: 'payments.create',
  idempotency: 'required',
  instanceId: 'agents',
  effect: 'destructive',
  toolsets: ['payments'],
} as const

const read = {
  method: 'GET',
  output: Payment,
  environments: ['sandbox', 'production'],
  permission: 'payments.read',
  idempotency: 'ignored',
  instanceId: 'optional',
  effect: 'read',
  toolsets: ['payments'],
} as const

const completed = {
  attributes: { status: 'COMPLETED' },
  relationships: { senderAgent: { data: null }, recipientAgent: { data: null }, customerParty: { data: null } },
} as const

export const payments = {
  createPayment: defineOperation({
    ...command,
    name: 'create_payment',
    title: 'Send a payment',
    description:
      'Pays a person, party or agent. IN_REVIEW waits for an approval; PENDING_CLAIM until the recipient opens claimLink, which is shown once.',
    path: '/payments',
    adds: true,
    attributes: z.strictObject({
      amount: RequestedCents.describe('Cents'),
      currency: Currency.default('USD'),
      counterparty: z.strictObject({ type: z.enum(counterpartyTypes), value: z.string().min(1).max(320) }),
      description: Description(80).optional(),
      tags: Tags.optional(),
      walletId: Id('wal').optional(),
      disableNotifications: z.boolean().optional(),
      customerPartyId: CustomerPartyId,
    }),
    output: CreatedPayment,
    errors: ['not_found', 'conflict'],
    example: completed,
  }),

  getPayment: defineOperation({
    ...read,
    name: 'get_payment',
    title: 'Read a payment',
    description: 'Reads a payment you sent or received.',
    path: '/payments/{paymentId}',
    params: paymentParams,
    query: z.strictObject(actingParty),
    result: 'one',
    errors: ['not_found'],
    example: completed,
  }),

  listPayments: defineOperation({
    ...read,
    name: 'list_payments',
    title: 'List payments',
    description: 'Lists sent payments, newest first. For received ones use list_transactions.',
    path: '/payments',
    query: listQuery(actingParty),
    result: 'page',
    errors: [],
    example: completed,
  }),

  cancelPayment: defineOperation({
    ...command,
    name: 'cancel_payment',
    title: 'Cancel a payment',
    description: 'Takes back a payment that is in review or not claimed yet.',
    path: '/payments/{paymentId}/cancel',
    params: paymentParams,
    attributes: z.strictObject({ customerPartyId: CustomerPartyId }),
    bodyOptional: true,
    output: Payment,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: {
      attributes: { status: 'CANCELED' },
      relationships: { ...completed.relationships, recipient: { data: null }, transaction: { data: null } },
    },
  }),

  simulatePaymentClaim: defineOperation({
    name: 'simulate_payment_claim',
    title: 'Claim a payment',
    description: 'Rehearses the unknown recipient joining and taking a PENDING_CLAIM payment.',
    method: 'POST',
    path: '/simulations/payments/{paymentId}/complete-claim',
    params: paymentParams,
    output: Payment,
    result: 'one',
    environments: ['sandbox'],
    permission: 'payments.simulate',
    idempotency: 'ignored',
    instanceId: 'agents',
    effect: 'write',
    setsState: true,
    toolsets: ['payments'],
    errors: ['not_found', 'conflict'],
    example: completed,
  }),
} as const
