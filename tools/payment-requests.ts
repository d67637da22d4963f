import { z } from 'zod'
import { withPartyNextToData } from '../src/core/body-places.ts'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { paymentOperation, readOperation, simulationOperation } from './kinds.ts'
import { actingParty, counterpartyTypes, Payment } from './payments.ts'
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
  Text,
  Timestamp,
  toOne,
  WaitSeconds,
} from './schemas.ts'

export const paymentRequestStatuses = [
  'OPEN',
  'PROCESSING',
  'COMPLETED',
  'FAILED',
  'RETURNED',
  'CANCELED',
  'DECLINED',
  'EXPIRED',
] as const

/** A party's request for money from another party. Amounts are in cents. */
export const PaymentRequest = resource(
  'paymentRequest',
  Id('prq'),
  {
    amount: Cents,
    currency: Currency,
    status: z.enum(paymentRequestStatuses),
    description: z.string().nullable(),
    tags: z.record(z.string(), z.string()),
    requesterName: z.string().nullable(),
    requesterEmail: z.string().nullable(),
    requesterAvatarUrl: z.string().nullable(),
    requesterHandle: z.string().nullable(),
    walletName: z.string().nullable(),
    payerName: z.string().nullable(),
    payerEmail: z.string().nullable(),
    payerAvatarUrl: z.string().nullable(),
    payerHandle: z.string().nullable(),
    payerPhone: z.string().nullable(),
    payerPartyId: Id('pty').nullable(),
    payerIdentifierType: z.enum(counterpartyTypes),
    payerIdentifier: z.string(),
    initiatorParty: z.object({ id: Id('pty'), name: z.string().nullable(), handle: z.string().nullable() }),
    initiatorAgent: z.object({ id: Id('agt'), name: z.string().nullable(), handle: z.string().nullable() }).nullable(),
    paymentLinkUrl: secret(z.url()).describe('The page for paying or declining; anyone who has the URL can use it'),
    transactionId: Id('txn').nullable(),
    ...cause,
    expiresAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  {
    party: toOne('party', 'pty'),
    requesterParty: toOne('party', 'pty'),
    wallet: toOne('wallet', 'wal'),
    payerParty: toOne('party', 'pty'),
    payerAgent: toOne('agent', 'agt'),
    payment: toOne('payment', 'pay'),
  },
)

const params = z.strictObject({ paymentRequestId: ArgumentId('prq') })

const TrueOrFalse = (words: string) => z.enum(['true', 'false']).describe(words).optional()

const read = {
  ...readOperation,
  output: PaymentRequest,
  permission: 'payments.read',
  toolsets: ['payments'],
  extension: false,
} as const

const command = {
  ...paymentOperation,
  permission: 'payments.create',
  toolsets: ['payments'],
  extension: false,
} as const

/** The members shared by the operations that simulate the payer of a payment request. */
const simulation = {
  ...command,
  ...simulationOperation,
  params,
  permission: 'payments.simulate',
  setsState: true,
  errors: ['not_found', 'conflict'],
} as const

const openExample = { attributes: { status: 'OPEN', transactionId: null } } as const
const endedExample = (status: (typeof paymentRequestStatuses)[number]) => ({
  attributes: { status, transactionId: null },
})

export const paymentRequests = {
  createPaymentRequest: defineOperation({
    ...command,
    effect: 'write',
    name: 'create_payment_request',
    title: 'Request a payment',
    description:
      'Asks someone to pay you. Send the payer paymentLinkUrl. The status COMPLETED means paid. To pay someone: create_payment.',
    path: '/payment-requests',
    attributes: z.strictObject({
      amount: RequestedCents,
      currency: RequestedCurrency.default('USD'),
      payer: z
        .strictObject({
          type: z.enum(counterpartyTypes).describe('Identifier type'),
          value: z.string().min(1).max(320).describe('Such as bob@example.com'),
        })
        .describe('The person asked to pay'),
      description: Description(80).describe('Purpose; shown to the payer').optional(),
      payerName: Text(32).describe('Your name for the payer').optional(),
      walletId: ArgumentId('wal', 'Wallet that gets the money; omit for the default').optional(),
      tags: Tags.optional(),
      customerPartyId: CustomerPartyId,
    }),
    unlisted: ['tags'],
    output: PaymentRequest,
    answers: 201,
    adds: true,
    errors: ['not_found', 'conflict'],
    example: openExample,
  }),

  listPaymentRequests: defineOperation({
    ...read,
    result: 'page',
    name: 'list_payment_requests',
    title: 'List payment requests you sent',
    description:
      'Lists open payment requests that you sent, newest first. Requests to you: list_incoming_payment_requests.',
    path: '/payment-requests',
    query: listQuery({
      ...actingParty,
      includeCompleted: TrueOrFalse('Include paid requests'),
      includeCanceled: TrueOrFalse('Include canceled, declined and expired requests'),
    }),
    errors: [],
    example: openExample,
  }),

  listIncomingPaymentRequests: defineOperation({
    ...read,
    result: 'page',
    name: 'list_incoming_payment_requests',
    title: 'List payment requests you received',
    description:
      'Lists requests for you to pay. To pay one: fulfill_payment_request. To refuse: decline_payment_request.',
    path: '/payment-requests/incoming',
    query: listQuery(actingParty),
    errors: [],
    example: openExample,
  }),

  getPaymentRequest: defineOperation({
    ...read,
    name: 'get_payment_request',
    title: 'Read a payment request',
    description: 'Reads a payment request that you sent or received. COMPLETED: it is paid.',
    path: '/payment-requests/{paymentRequestId}',
    params,
    query: z.strictObject({ ...actingParty, waitSeconds: WaitSeconds }),
    errors: ['not_found'],
    example: openExample,
  }),

  fulfillPaymentRequest: defineOperation({
    ...command,
    name: 'fulfill_payment_request',
    title: 'Pay a payment request',
    description:
      'Pays a request that you received, from a wallet or linked bank account. IN_REVIEW: see list_approvals. PROCESSING: the bank is transferring the money.',
    path: '/payment-requests/{paymentRequestId}/fulfill',
    params,
    attributes: withPartyNextToData(
      z.strictObject({
        paymentSource: z
          .discriminatedUnion('type', [
            z.strictObject({ type: z.literal('wallet').describe('Pay from a wallet'), walletId: ArgumentId('wal') }),
            z.strictObject({
              type: z.literal('external_account').describe('Pay from a linked bank account'),
              externalAccountId: ArgumentId('eac'),
            }),
          ])
          .describe('Source of the money'),
        ...actingParty,
      }),
    ),
    output: Payment,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: {
      attributes: { status: 'COMPLETED' },
      relationships: { senderAgent: { data: null }, recipientAgent: { data: null }, customerParty: { data: null } },
    },
  }),

  declinePaymentRequest: defineOperation({
    ...command,
    name: 'decline_payment_request',
    title: 'Decline a payment request',
    description: 'Refuses to pay a request that you received. To withdraw your own: cancel_payment_request.',
    path: '/payment-requests/{paymentRequestId}/decline',
    params,
    attributes: z.strictObject({ customerPartyId: CustomerPartyId }),
    bodyOptional: true,
    output: PaymentRequest,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: endedExample('DECLINED'),
  }),

  cancelPaymentRequest: defineOperation({
    ...command,
    name: 'cancel_payment_request',
    title: 'Cancel a payment request',
    description:
      'Withdraws an OPEN payment request that you sent, so that nobody can pay it. To refuse one from someone else: decline_payment_request.',
    path: '/payment-requests/{paymentRequestId}/cancel',
    params,
    attributes: z.strictObject({ customerPartyId: CustomerPartyId }),
    bodyOptional: true,
    output: PaymentRequest,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: endedExample('CANCELED'),
  }),

  simulatePaymentRequestFulfillment: defineOperation({
    ...simulation,
    name: 'simulate_payment_request_fulfillment',
    title: 'Pay as the payer',
    description: 'Simulates a payer without credentials paying your payment request, which becomes COMPLETED.',
    path: '/simulations/payment-requests/{paymentRequestId}/fulfill',
    output: Payment,
    example: {
      attributes: { status: 'COMPLETED' },
      relationships: { senderAgent: { data: null }, recipientAgent: { data: null }, customerParty: { data: null } },
    },
  }),

  simulatePaymentRequestDecline: defineOperation({
    ...simulation,
    name: 'simulate_payment_request_decline',
    title: 'Decline as the payer',
    description: 'Simulates a payer without credentials refusing to pay you: your request becomes DECLINED.',
    path: '/simulations/payment-requests/{paymentRequestId}/decline',
    output: PaymentRequest,
    example: endedExample('DECLINED'),
  }),
} as const
