import { z } from 'zod'
import { partyBeside } from '../src/core/body-places.ts'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { paying, reading, simulating } from './kinds.ts'
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

/** A request by one party for money from another. Amounts in cents. */
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
    paymentLinkUrl: secret(z.url()).describe('Where the payer pays or declines; whoever has it may'),
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

/** Returns a flag in the form that a query carries it. */
const Included = (words: string) => z.enum(['true', 'false']).describe(words).optional()

const read = {
  ...reading,
  output: PaymentRequest,
  permission: 'payments.read',
  toolsets: ['payments'],
  extension: false,
} as const

const command = {
  ...paying,
  permission: 'payments.create',
  toolsets: ['payments'],
  extension: false,
} as const

/** The members shared by operations that simulate the payer of a request in the sandbox. */
const simulation = {
  ...command,
  ...simulating,
  params,
  permission: 'payments.simulate',
  setsState: true,
  errors: ['not_found', 'conflict'],
} as const

const open = { attributes: { status: 'OPEN', transactionId: null } } as const
const ended = (status: (typeof paymentRequestStatuses)[number]) => ({ attributes: { status, transactionId: null } })

export const paymentRequests = {
  createPaymentRequest: defineOperation({
    ...command,
    effect: 'write',
    name: 'create_payment_request',
    title: 'Request a payment',
    description:
      'Asks somebody to pay you. Give the payer paymentLinkUrl; COMPLETED when they paid. To pay somebody: create_payment.',
    path: '/payment-requests',
    attributes: z.strictObject({
      amount: RequestedCents,
      currency: RequestedCurrency.default('USD'),
      payer: z
        .strictObject({
          type: z.enum(counterpartyTypes).describe('What value is'),
          value: z.string().min(1).max(320).describe('As bob@example.com'),
        })
        .describe('Who is to pay'),
      description: Description(80).describe('What it is for; the payer reads it').optional(),
      payerName: Text(32).describe('How you call the payer').optional(),
      walletId: ArgumentId('wal', 'To be paid into; else the default').optional(),
      tags: Tags.optional(),
      customerPartyId: CustomerPartyId,
    }),
    unlisted: ['tags'],
    output: PaymentRequest,
    answers: 201,
    adds: true,
    errors: ['not_found', 'conflict'],
    example: open,
  }),

  listPaymentRequests: defineOperation({
    ...read,
    result: 'page',
    name: 'list_payment_requests',
    title: 'List payment requests you sent',
    description:
      'Lists what you asked others to pay and is still open, newest first; what you are asked: list_incoming_payment_requests.',
    path: '/payment-requests',
    query: listQuery({
      ...actingParty,
      includeCompleted: Included('Paid ones too'),
      includeCanceled: Included('Canceled, declined and expired ones too'),
    }),
    errors: [],
    example: open,
  }),

  listIncomingPaymentRequests: defineOperation({
    ...read,
    result: 'page',
    name: 'list_incoming_payment_requests',
    title: 'List payment requests you got',
    description:
      'Lists requests that wait for your money. Each is paid by fulfill_payment_request or refused by decline_payment_request.',
    path: '/payment-requests/incoming',
    query: listQuery(actingParty),
    errors: [],
    example: open,
  }),

  getPaymentRequest: defineOperation({
    ...read,
    name: 'get_payment_request',
    title: 'Read a payment request',
    description: 'Reads a payment request sent or received: OPEN, paid, or how it ended.',
    path: '/payment-requests/{paymentRequestId}',
    params,
    query: z.strictObject({ ...actingParty, waitSeconds: WaitSeconds }),
    errors: ['not_found'],
    example: open,
  }),

  fulfillPaymentRequest: defineOperation({
    ...command,
    name: 'fulfill_payment_request',
    title: 'Pay a payment request',
    description:
      'Pays what somebody asks of you, from a wallet or a linked bank account. IN_REVIEW: list_approvals. PROCESSING: the bank is on it.',
    path: '/payment-requests/{paymentRequestId}/fulfill',
    params,
    attributes: partyBeside(
      z.strictObject({
        paymentSource: z
          .discriminatedUnion('type', [
            z.strictObject({ type: z.literal('wallet').describe('Your money here'), walletId: ArgumentId('wal') }),
            z.strictObject({
              type: z.literal('external_account').describe('At your bank'),
              externalAccountId: ArgumentId('eac'),
            }),
          ])
          .describe('What pays'),
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
    description: 'Refuses to pay what somebody asks of you. One that you sent is ended by cancel_payment_request.',
    path: '/payment-requests/{paymentRequestId}/decline',
    params,
    attributes: z.strictObject({ customerPartyId: CustomerPartyId }),
    bodyOptional: true,
    output: PaymentRequest,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: ended('DECLINED'),
  }),

  cancelPaymentRequest: defineOperation({
    ...command,
    name: 'cancel_payment_request',
    title: 'Cancel a payment request',
    description:
      'Takes back a payment request that you sent and that is OPEN. One that you got is refused by decline_payment_request.',
    path: '/payment-requests/{paymentRequestId}/cancel',
    params,
    attributes: z.strictObject({ customerPartyId: CustomerPartyId }),
    bodyOptional: true,
    output: PaymentRequest,
    setsState: true,
    errors: ['not_found', 'conflict'],
    example: ended('CANCELED'),
  }),

  simulatePaymentRequestFulfillment: defineOperation({
    ...simulation,
    name: 'simulate_payment_request_fulfillment',
    title: 'Let a payer pay',
    description:
      'Plays the payer, without credentials, of a payment request that you sent: the money arrives, COMPLETED.',
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
    title: 'Let a payer decline',
    description: 'Answers no for whoever was asked to pay you and has no credentials: your request becomes DECLINED.',
    path: '/simulations/payment-requests/{paymentRequestId}/decline',
    output: PaymentRequest,
    example: ended('DECLINED'),
  }),
} as const
