import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { readOperation, simulationOperation, writeOperation } from './kinds.ts'
import {
  ArgumentId,
  Cents,
  CentsOrZero,
  Currency,
  CustomerPartyId,
  Description,
  Digits,
  Id,
  listQuery,
  RequestedCents,
  resource,
  Timestamp,
  toOne,
  WaitSeconds,
} from './schemas.ts'

export const subscriptionStatuses = [
  'pending',
  'active',
  'past_due',
  'needs_attention',
  'canceled',
  'completed',
] as const

export const attentionReasons = [
  'missed_twice',
  'not_charged',
  'card_blocked',
  'card_needs_update',
  'card_removed',
] as const

/** The payer's test cards, named after their behavior. */
export const cardBehaviors = [
  'approves',
  'declines_once',
  'declines',
  'blocked',
  'needs_update',
  'removed',
  'processor_error',
  'agreement_fails',
] as const

const Every = z.strictObject({
  unit: z.enum(['week', 'month', 'year']).describe('Unit of the interval'),
  count: z.int().positive().describe('How many units between payments'),
})

const terms = { description: Description(200), every: Every, taxAmount: CentsOrZero }

/**
 * The terms of a subscription: payments without end, or 2 to 4 payments that add up to a total. The terms never change.
 * Amounts are in cents.
 */
const Terms = z.union([
  z.object({ ...terms, amount: Cents, paymentCount: z.null() }),
  z.object({
    ...terms,
    totalAmount: Cents,
    paymentCount: z.int().min(2).max(4),
    payments: z.array(z.object({ amount: Cents, taxAmount: CentsOrZero })),
  }),
])

/**
 * A series of card payments at a fixed interval, to which the payer agrees in a hosted checkout
 * (docs/service.md#subscription). Amounts are in cents.
 */
export const Subscription = resource(
  'subscription',
  Id('sub'),
  {
    status: z.enum(subscriptionStatuses),
    terms: Terms,
    currency: Currency,
    nextPayment: z
      .object({
        paymentNumber: z.int().positive(),
        dueDate: z.iso.date().nullable(),
        amount: Cents,
        taxAmount: CentsOrZero,
      })
      .nullable(),
    missedPayments: z.array(z.int().positive()),
    attention: z.object({ reason: z.enum(attentionReasons), since: Timestamp }).nullable(),
    mandateId: Id('mdt').nullable(),
    checkoutUrl: secret(z.url().nullable().describe('Null without the permission payments.create')),
    clientSecret: secret(
      z.string().nullable().describe("For the payer's browser only; null without the permission payments.create"),
    ),
    expiresAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { paymentIntent: toOne('paymentIntent', 'pmi') },
)

/** One payment of a subscription and its status. Amounts are in cents. */
export const SubscriptionPayment = resource(
  'subscriptionPayment',
  z.string(),
  {
    paymentNumber: z.int().positive(),
    dueDate: z.iso.date().nullable(),
    status: z.enum(['paid', 'marked_paid', 'missed', 'scheduled']),
    amount: Cents,
    taxAmount: CentsOrZero,
    currency: Currency,
    paidAt: Timestamp.nullable(),
  },
  { transaction: toOne('transaction', 'txn') },
)

const params = z.strictObject({ subscriptionId: ArgumentId('sub') })
const Status = z.enum(subscriptionStatuses)
const customer = z.strictObject({ customerPartyId: CustomerPartyId })

const read = {
  ...readOperation,
  output: Subscription,
  permission: 'subscriptions.read',
  toolsets: ['default'],
  extension: true,
} as const

const command = {
  ...writeOperation,
  output: Subscription,
  permission: 'subscriptions.manage',
  toolsets: ['payments'],
  extension: false,
} as const

const simulation = { ...command, ...simulationOperation, extension: true } as const

const activeExample = { attributes: { status: 'active', expiresAt: null } } as const

export const subscriptions = {
  createSubscription: defineOperation({
    ...command,
    instanceId: 'agents',
    name: 'create_subscription',
    title: 'Create a subscription',
    description:
      'Asks a payer for regular card payments to you: either amount each time, without end, or totalAmount in paymentCount parts. Send the payer checkoutUrl: nothing is paid before they agree there.',
    path: '/subscriptions',
    adds: true,
    attributes: z.strictObject({
      description: Description(200).describe('Purpose, shown to the payer'),
      every: Every.describe('1 to 25 weeks or 1 to 5 months'),
      amount: RequestedCents.optional().describe('Cents per payment, tax included: 5000 is $50.00'),
      totalAmount: RequestedCents.optional().describe('Cents in total, tax included: 30000 is $300.00'),
      taxAmount: CentsOrZero.describe('Cents of tax in the amount; 0: none'),
      paymentCount: z.int().min(2).max(4).nullable().optional().describe('Only with totalAmount'),
      expiresInMinutes: z
        .int()
        .min(5)
        .max(43_200)
        .nullable()
        .default(1440)
        .describe('Lifetime of the checkout; null: no limit (over MCP, send clear: ["expiresInMinutes"])'),
      customerPartyId: CustomerPartyId,
    }),
    errors: [],
    extension: true,
    example: {
      attributes: {
        nextPayment: { paymentNumber: 1, dueDate: null, amount: 4_250, taxAmount: 250 },
        mandateId: null,
        checkoutUrl:
          'http://127.0.0.1:4010/checkout/sub_0198a1b2c3d40123456789abcdef0123/5f0c7d7c2f1b8f0e6a4d3c2b1a09f8e7d6c5b4a3928170615243f4e5d6c7b8a9',
        clientSecret: 'pmi_0198a1b2c3d40123456789abcdef0123_secret_…',
      },
    },
  }),

  getSubscription: defineOperation({
    ...read,
    name: 'get_subscription',
    title: 'Read a subscription',
    description: 'Reads a subscription: its status, next and missed payments, and why it needs attention.',
    path: '/subscriptions/{subscriptionId}',
    params,
    query: z.strictObject({ customerPartyId: CustomerPartyId, waitSeconds: WaitSeconds }),
    toolsets: ['payments'],
    errors: ['not_found'],
    example: activeExample,
  }),

  listSubscriptions: defineOperation({
    ...read,
    result: 'page',
    name: 'list_subscriptions',
    title: 'List subscriptions',
    description: 'Lists subscriptions that pay you.',
    path: '/subscriptions',
    query: listQuery({ ...customer.shape, status: Status.describe('Only this status').optional() }),
    unlisted: ['status'],
    errors: [],
    example: activeExample,
  }),

  listSubscriptionPayments: defineOperation({
    ...read,
    result: 'page',
    name: 'list_subscription_payments',
    title: 'List the payments of a subscription',
    description:
      'Lists the payments of one subscription, latest first: paid, missed and next, each charge with its transaction.',
    path: '/subscriptions/{subscriptionId}/payments',
    params,
    query: listQuery({ customerPartyId: CustomerPartyId }),
    output: SubscriptionPayment,
    toolsets: ['payments'],
    errors: ['not_found'],
    example: { attributes: { status: 'paid' } },
  }),

  cancelSubscription: defineOperation({
    ...command,
    effect: 'destructive',
    name: 'cancel_subscription',
    title: 'Cancel a subscription',
    description: 'Ends a subscription that pays you, or its pending checkout, for good. Ask the person first.',
    path: '/subscriptions/{subscriptionId}/cancel',
    params,
    attributes: customer,
    setsState: true,
    toolsets: ['default'],
    errors: ['not_found'],
    example: { attributes: { status: 'canceled', expiresAt: null, nextPayment: null } },
  }),

  resumeSubscription: defineOperation({
    ...command,
    instanceId: 'agents',
    name: 'resume_subscription',
    title: 'Resume a subscription',
    description: 'Resumes after needs_attention: due payments are charged at once. Not for canceled subscriptions.',
    path: '/subscriptions/{subscriptionId}/resume',
    params,
    attributes: customer,
    setsState: true,
    errors: ['not_found'],
    extension: true,
    example: activeExample,
  }),

  markSubscriptionPaymentPaid: defineOperation({
    ...command,
    instanceId: 'agents',
    name: 'mark_subscription_payment_paid',
    title: 'Mark a payment as paid',
    description: 'Records that a missed payment, or the next one, was paid another way. It is then never charged.',
    path: '/subscriptions/{subscriptionId}/payments/{paymentNumber}/mark-paid',
    params: params.extend({ paymentNumber: Digits(z.int().positive()).describe('Counted from 1') }),
    attributes: customer,
    setsState: true,
    errors: ['not_found'],
    extension: true,
    example: activeExample,
  }),

  simulateSubscriptionCheckout: defineOperation({
    ...simulation,
    name: 'simulate_subscription_checkout',
    title: 'Pay a checkout',
    description:
      'Simulates the payer agreeing and making the first payment with a test card. If the card is declined, the subscription stays pending.',
    path: '/simulations/subscriptions/{subscriptionId}/checkout',
    params,
    attributes: customer.extend({ card: z.enum(cardBehaviors).describe('How the test card behaves') }),
    errors: ['not_found'],
    example: activeExample,
  }),

  simulateSubscriptionCard: defineOperation({
    ...simulation,
    name: 'simulate_subscription_card',
    title: "Change how a payer's card behaves",
    description: "Sets how the payer's card behaves, starting with one payment. Next: advance_sandbox_clock.",
    path: '/simulations/subscriptions/{subscriptionId}/card',
    params,
    attributes: z.strictObject({
      behavior: z.enum(cardBehaviors).describe('How the test card behaves'),
      fromPaymentNumber: z.int().positive().optional().describe('Default: the next payment'),
      customerPartyId: CustomerPartyId,
    }),
    setsState: true,
    errors: ['not_found'],
    example: activeExample,
  }),
} as const
