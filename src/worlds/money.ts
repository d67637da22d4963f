import { z } from 'zod'
import { limitTypes } from '../../tools/approvals.ts'
import { cardTransactionStatuses, type DeclineCode, declines } from '../../tools/card-transactions.ts'
import { paymentStatuses } from '../../tools/payments.ts'
import { CentsOrZero, Description, Formed, RequestedCents, Tags, Text } from '../../tools/schemas.ts'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { secret } from '../core/secret-fields.ts'
import { FixedId, LinkToken, listOf, Moment, Ref, RefTo } from './fields.ts'

const ref = Ref.optional().describe('Its name in this file')
const tags = Tags.optional()
const instanceId = Text(128).optional().describe('The run that created it (X-Instance-ID). Default: none')
const wallet = RefTo('A wallet of the party').optional()
const amount = RequestedCents
const timeField = (description: string, otherwise = 'when the world begins') =>
  Moment.optional().describe(`When ${description}. Default: ${otherwise}`)

const Refund = z.strictObject({ ref, id: FixedId('cit'), amount, at: timeField('it was refunded') })

/** A merchant's attempt to charge a card, and its outcome. */
const Purchase = z
  .strictObject({
    ref,
    id: FixedId('cit'),
    amount,
    merchant: Text(100).optional().describe("The merchant. Default: the card's merchant"),
    at: timeField('it was authorized or declined', 'when the card was issued'),
    status: z
      .enum(cardTransactionStatuses)
      .exclude(['refunded'])
      .default('authorized')
      .describe('Its outcome. A refunded purchase stays captured; list its refunds in refunds'),
    captured: amount.optional().describe('The captured amount in cents, for status partially_captured'),
    decline: z
      .enum(Object.keys(declines) as [DeclineCode, ...DeclineCode[]])
      .optional()
      .describe('Why it was declined'),
    endedAt: timeField('it was captured or reversed', 'when it was authorized'),
    refunds: listOf(Refund).optional().describe('Refunds of the captured amount'),
    instanceId,
  })
  .describe('A purchase')

export const Card = z.strictObject({
  ref,
  id: FixedId('pcd'),
  agent: RefTo("The agent it was issued to: the party's own, or party/agent for another party's agent with a grant"),
  wallet: wallet.describe(
    "The wallet that pays. Default: the agent's default wallet; for an agent of another party, the party's default wallet",
  ),
  merchant: Text(100).describe('The merchant that may charge it'),
  maximumAmount: amount.describe('The maximum amount in cents: 5000 is $50.00'),
  issuedAt: timeField('it was issued', 'when the world begins, or an hour before it expires if that is earlier'),
  expiresAt: Moment.optional().describe('When it expires; may be in the past. Default: an hour after it was issued'),
  frozenAt: Moment.optional().describe('When it was frozen. Default: never'),
  purchases: listOf(Purchase)
    .optional()
    .describe('Attempted purchases. At most one of them was approved; that purchase uses up the card'),
  instanceId,
})

const approval = z
  .strictObject({
    id: FixedId('apr'),
    reasons: z
      .array(
        z.strictObject({
          limit: z.enum(limitTypes).describe('The exceeded limit'),
          limitAmount: CentsOrZero.describe('The limit in cents'),
          actualAmount: RequestedCents.describe('The total in cents that the payment would have reached'),
        }),
      )
      .min(1)
      .optional()
      .describe('Why it had to be approved. Default: the limits in this file that it exceeds'),
    denialReason: Text(500).optional().describe('The reason given for a denial'),
  })
  .describe('Its review')

const requestFields = {
  amount,
  description: Description(80).optional().describe('Its purpose'),
  agent: RefTo(
    "The agent that made the payment: the party's own, or party/agent for another party's agent with a grant. Default: none",
  ).optional(),
  actor: z
    .enum(['api', 'user'])
    .default('api')
    .describe('Who paid if no agent did: api is a program, user is a person'),
  wallet: wallet.describe("The wallet that pays. Default: the agent's default wallet, else the party's"),
  at: timeField('it was created'),
  endedAt: timeField('a pending payment was paid, claimed, canceled, denied or returned', 'when it was created'),
  approval: approval.optional(),
  tags,
  instanceId,
}

const status = (description: string) => z.enum(paymentStatuses).default('COMPLETED').describe(description)

export const Payment = z.strictObject({
  ref,
  id: FixedId('pay'),
  to: RefTo('The recipient: a party in this file, an agent as party/agent, or any email address or phone number'),
  ...requestFields,
  status: status(
    'Its status when the world begins. IN_REVIEW is pending approval; PENDING_CLAIM needs a recipient who is not in this file',
  ),
  claimToken: LinkToken('the claim link of a PENDING_CLAIM payment, /claim/…'),
})

const Beneficiary = z.strictObject({
  name: Text(140).describe('The account holder'),
  accountNumber: secret(Formed(/^[0-9A-Za-z]{4,34}$/, '4 to 34 digits or letters')).describe(
    'The account number, of which only the last four digits are stored',
  ),
  routingNumber: Formed(/^[0-9]{9}$/, '9 digits').describe("The bank's routing number"),
})

export const Wire = z.strictObject({
  ref,
  id: FixedId('tfr'),
  beneficiary: Beneficiary.describe('The bank account that receives the money'),
  ...requestFields,
  status: status(
    'Its status when the world begins. PROCESSING: the money has left the wallet; RETURNED: it has come back',
  ),
})

export const Deposit = z.strictObject({
  ref,
  id: FixedId('tfr'),
  amount,
  wallet: wallet.describe("The wallet that received it. Default: the party's default wallet"),
  description: Description(80).default('Sandbox deposit').describe('Its purpose'),
  at: timeField('it arrived'),
})

export const InternalTransfer = z.strictObject({
  ref,
  id: FixedId('tfr'),
  amount,
  from: RefTo('The wallet that paid'),
  to: RefTo('The wallet that received the money'),
  description: Description(80).optional().describe('Its purpose'),
  agent: RefTo("The party's agent that moved the money. Default: none").optional(),
  at: timeField('it was moved'),
  tags,
  instanceId,
})

const eventTime = Moment.describe('The time of the event')

/** An event in the history of a subscription, other than a payment. */
const SubscriptionEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('card_changed').describe("The payer's card behaves differently from this time on"),
    at: eventTime,
    card: z.enum(cardBehaviors).describe('The new behavior'),
    fromPaymentNumber: z.int().positive().optional().describe('The first payment affected. Default: the next one'),
  }),
  z.strictObject({
    event: z.literal('marked_paid').describe('A missed payment, or the next payment, was paid in another way'),
    at: eventTime,
    paymentNumber: z.int().positive().describe('The number of the payment'),
  }),
  z.strictObject({
    event: z.literal('resumed').describe('Collection resumed after the subscription needed attention'),
    at: eventTime,
  }),
  z.strictObject({ event: z.literal('canceled').describe('It was canceled'), at: eventTime }),
])

export const Subscription = z.strictObject({
  ref,
  id: FixedId('sub'),
  paymentIntentId: FixedId('pmi').describe('The id of its payment intent, the checkout of payment 1'),
  mandateId: FixedId('mdt').describe('The id of its mandate, which exists once payment 1 is paid'),
  wallet: wallet.describe("The wallet that receives the money. Default: the party's default wallet"),
  description: Description(200).describe('Its description, which the payer sees'),
  every: z
    .strictObject({
      unit: z.enum(['week', 'month']).describe('The unit of the interval'),
      count: z.int().positive().describe('The number of units'),
    })
    .default({ unit: 'month', count: 1 })
    .describe('1 to 25 weeks or 1 to 5 months. Default: each month'),
  amount: RequestedCents.optional().describe('Each payment in cents, tax included, if the subscription has no end'),
  totalAmount: RequestedCents.optional().describe('The total of all paymentCount payments in cents'),
  paymentCount: z.int().min(2).max(4).optional().describe('The number of payments; only allowed with totalAmount'),
  taxAmount: CentsOrZero.default(0).describe('The tax included in the amount, in cents'),
  createdAt: timeField('it was created', 'when payment 1 was paid, or when the world begins'),
  checkoutExpiresAt: Moment.nullable()
    .optional()
    .describe('When the checkout expires; null for never. Default: a day after createdAt'),
  paidAt: Moment.optional().describe(
    'When payment 1 was paid. Later payments are due at intervals from that day on; past ones were charged or missed, depending on card. Default: not paid',
  ),
  card: z
    .enum(cardBehaviors)
    .default('approves')
    .describe("How the payer's card behaves from payment 2 on; payment 1 was approved"),
  history: z.array(SubscriptionEvent).max(1000).optional().describe('Other events, in chronological order'),
  agent: RefTo("The party's agent that created it. Default: none").optional(),
  instanceId,
})
