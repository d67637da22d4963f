import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { paymentOperation, readOperation, simulationOperation } from './kinds.ts'
import {
  ArgumentId,
  Cents,
  Currency,
  CustomerPartyId,
  cause,
  Description,
  Id,
  listQuery,
  RequestedCents,
  RequestedCurrency,
  resource,
  Tags,
  Timestamp,
  toOne,
  WaitSeconds,
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

/** A payment from one party to another, or to a recipient who has not claimed it yet. Amounts are in cents. */
export const Payment = resource('payment', Id('pay'), attributes, relationships)

/** A new payment, in the response to its creation. `claimLink` is for a recipient who is not a party yet. */
const CreatedPayment = resource(
  'payment',
  Id('pay'),
  { ...attributes, claimLink: secret(z.url().nullable()) },
  relationships,
)

const paymentParams = z.strictObject({ paymentId: ArgumentId('pay') })
/**
 * Two fields with the same meaning: the party to act for. The API's published client sends `partyId`. In the list of
 * tools, models see only `customerPartyId`.
 */
export const actingParty = {
  customerPartyId: CustomerPartyId,
  partyId: ArgumentId('pty', 'Same as customerPartyId; send only one of the two').optional(),
}

const command = {
  ...paymentOperation,
  permission: 'payments.create',
  toolsets: ['payments'],
  extension: false,
} as const

const read = {
  ...readOperation,
  output: Payment,
  permission: 'payments.read',
  toolsets: ['payments'],
  extension: false,
} as const

const completedExample = {
  attributes: { status: 'COMPLETED' },
  relationships: { senderAgent: { data: null }, recipientAgent: { data: null }, customerParty: { data: null } },
} as const

export const payments = {
  createPayment: defineOperation({
    ...command,
    name: 'create_payment',
    title: 'Send a payment',
    description:
      'Pays a person, party or agent. At shops: issue_agent_card. PENDING_CLAIM: send the recipient claimLink, shown once. IN_REVIEW: needs approval.',
    answers: 201,
    path: '/payments',
    adds: true,
    attributes: z.strictObject({
      amount: RequestedCents,
      currency: RequestedCurrency.default('USD'),
      counterparty: z
        .strictObject({
          type: z.enum(counterpartyTypes).describe('Identifier type'),
          value: z.string().min(1).max(320).describe('e.g. bob@example.com'),
        })
        .describe('Recipient'),
      description: Description(80).describe('Shown to both sides').optional(),
      tags: Tags.optional(),
      walletId: ArgumentId('wal', 'Omit for the default').optional(),
      disableNotifications: z.boolean().describe('Send no emails').optional(),
      customerPartyId: CustomerPartyId,
    }),
    unlisted: ['tags', 'disableNotifications'],
    output: CreatedPayment,
    toolsets: ['default', 'payments'],
    errors: ['not_found', 'conflict'],
    example: completedExample,
  }),

  getPayment: defineOperation({
    ...read,
    name: 'get_payment',
    title: 'Read a payment',
    description: 'Reads a payment. IN_REVIEW: a person must decide.',
    path: '/payments/{paymentId}',
    params: paymentParams,
    query: z.strictObject({ ...actingParty, waitSeconds: WaitSeconds }),
    toolsets: ['default', 'payments'],
    errors: ['not_found'],
    example: completedExample,
  }),

  listPayments: defineOperation({
    ...read,
    result: 'page',
    name: 'list_payments',
    title: 'List payments',
    description: 'Lists payments you sent, newest first. Card purchases: list_card_transactions.',
    path: '/payments',
    query: listQuery(actingParty),
    toolsets: ['default', 'payments'],
    errors: [],
    example: completedExample,
  }),

  cancelPayment: defineOperation({
    ...command,
    name: 'cancel_payment',
    title: 'Cancel a payment',
    description: 'Cancels a payment that is IN_REVIEW or PENDING_CLAIM. COMPLETED payments cannot be canceled.',
    path: '/payments/{paymentId}/cancel',
    params: paymentParams,
    attributes: z.strictObject({ customerPartyId: CustomerPartyId }),
    bodyOptional: true,
    output: Payment,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: {
      attributes: { status: 'CANCELED' },
      relationships: { ...completedExample.relationships, recipient: { data: null }, transaction: { data: null } },
    },
  }),

  simulatePaymentClaim: defineOperation({
    ...simulationOperation,
    idempotency: 'ignored',
    name: 'simulate_payment_claim',
    title: 'Claim a payment',
    description: 'Simulates the recipient of a PENDING_CLAIM payment joining and claiming it.',
    path: '/simulations/payments/{paymentId}/complete-claim',
    params: paymentParams,
    output: Payment,
    permission: 'payments.simulate',
    setsState: true,
    toolsets: ['payments'],
    errors: ['not_found', 'conflict'],
    example: completedExample,
    extension: false,
  }),
} as const
