import { z } from 'zod'
import { limitTypes } from '../../tools/approvals.ts'
import { cardTransactionStatuses, type DeclineCode, declines } from '../../tools/card-transactions.ts'
import { paymentStatuses } from '../../tools/payments.ts'
import { CentsOrZero, Description, Formed, RequestedCents, Tags, Text } from '../../tools/schemas.ts'
import { cardBehaviors } from '../../tools/subscriptions.ts'
import { secret } from '../core/secret-fields.ts'
import { FixedId, LinkToken, listOf, Moment, Ref, RefTo } from './fields.ts'

const ref = Ref.optional().describe('What it is called in this file')
const tags = Tags.optional()
const instanceId = Text(128).optional().describe('The run that it was made in (X-Instance-ID). Default: none')
const wallet = RefTo('A wallet of the party').optional()
const amount = RequestedCents
const at = (what: string, otherwise = 'when the world begins') =>
  Moment.optional().describe(`When ${what}. Default: ${otherwise}`)

const Refund = z.strictObject({ ref, id: FixedId('cit'), amount, at: at('it was made') })

/** A merchant's attempt to charge a card, and its outcome. */
const Purchase = z
  .strictObject({
    ref,
    id: FixedId('cit'),
    amount,
    merchant: Text(100).optional().describe("Who asked. Default: the card's merchant"),
    at: at('it was authorized or declined', 'when the card was issued'),
    status: z
      .enum(cardTransactionStatuses)
      .exclude(['refunded'])
      .default('authorized')
      .describe('What became of it. A refund is entered in refunds; the purchase stays captured'),
    captured: amount.optional().describe('Cents that a partially_captured purchase collected'),
    decline: z
      .enum(Object.keys(declines) as [DeclineCode, ...DeclineCode[]])
      .optional()
      .describe('Why it was declined'),
    endedAt: at('it was captured or reversed', 'when it was authorized'),
    refunds: listOf(Refund).optional().describe('What was paid back of what was captured'),
    instanceId,
  })
  .describe('A purchase')

export const Card = z.strictObject({
  ref,
  id: FixedId('pcd'),
  agent: RefTo("The agent it was issued to: of the party, or party/agent of another party's that it granted this to"),
  wallet: wallet.describe(
    "The wallet that pays. Default: the agent's default wallet; for another party's, the party's",
  ),
  merchant: Text(100).describe('Whom it is to pay'),
  maximumAmount: amount.describe('Most it may cost, cents: 5000 is $50.00'),
  issuedAt: at('it was issued', 'when the world begins, or an hour before it expires where that is earlier'),
  expiresAt: Moment.optional().describe('When it expires, also in the past. Default: an hour after it was issued'),
  frozenAt: Moment.optional().describe('When it was frozen. Default: it is not'),
  purchases: listOf(Purchase)
    .optional()
    .describe('What merchants tried; one of them at the most was not declined, and makes the card used'),
  instanceId,
})

const approval = z
  .strictObject({
    id: FixedId('apr'),
    reasons: z
      .array(
        z.strictObject({
          limit: z.enum(limitTypes).describe('Which limit was passed'),
          limitAmount: CentsOrZero.describe('How high it was, cents'),
          actualAmount: RequestedCents.describe('What it would have become, cents'),
        }),
      )
      .min(1)
      .optional()
      .describe('Why it had to be approved. Default: the limits of the file that it passes'),
    denialReason: Text(500).optional().describe('What was said when it was denied'),
  })
  .describe('The review that it went through')

const asked = {
  amount,
  description: Description(80).optional().describe('What it is for'),
  agent: RefTo(
    "The agent that asked: of the party, or party/agent of another's that has a grant. Default: none",
  ).optional(),
  actor: z.enum(['api', 'user']).default('api').describe('Who asked, where no agent did: a program or a person'),
  wallet: wallet.describe("The wallet that pays. Default: the agent's default wallet, else the party's"),
  at: at('it was asked for'),
  endedAt: at('it was paid, claimed, canceled, denied or returned after it had waited', 'when it was asked for'),
  approval: approval.optional(),
  tags,
  instanceId,
}

const status = (what: string) => z.enum(paymentStatuses).default('COMPLETED').describe(what)

export const Payment = z.strictObject({
  ref,
  id: FixedId('pay'),
  to: RefTo(
    'Who is paid: a party of this file, an agent as party/agent, or the e-mail address or phone number of anybody',
  ),
  ...asked,
  status: status(
    'How it stands when the world begins. IN_REVIEW waits for its approval, PENDING_CLAIM for a recipient whom the world does not have',
  ),
  claimToken: LinkToken('the claim link of a PENDING_CLAIM payment, /claim/…'),
})

const Beneficiary = z.strictObject({
  name: Text(140).describe('Whose account it is'),
  accountNumber: secret(Formed(/^[0-9A-Za-z]{4,34}$/, '4 to 34 digits or letters')).describe(
    'Of which four digits are kept',
  ),
  routingNumber: Formed(/^[0-9]{9}$/, '9 digits'),
})

export const Wire = z.strictObject({
  ref,
  id: FixedId('tfr'),
  beneficiary: Beneficiary.describe('The account at a bank that is paid'),
  ...asked,
  status: status(
    'How it stands when the world begins. What is PROCESSING has left the wallet; what is RETURNED came back',
  ),
})

export const Deposit = z.strictObject({
  ref,
  id: FixedId('tfr'),
  amount,
  wallet: wallet.describe("The wallet that was paid into. Default: the party's"),
  description: Description(80).default('Sandbox deposit').describe('What it is for'),
  at: at('the money came'),
})

export const InternalTransfer = z.strictObject({
  ref,
  id: FixedId('tfr'),
  amount,
  from: RefTo('The wallet that paid'),
  to: RefTo('The wallet that was paid'),
  description: Description(80).optional().describe('What it is for'),
  agent: RefTo('The agent of the party that moved it. Default: none').optional(),
  at: at('it was moved'),
  tags,
  instanceId,
})

const happened = Moment.describe('When')

/** An event of a subscription other than a payment. */
const SubscriptionEvent = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('card_changed').describe("The payer's card behaves otherwise from then on"),
    at: happened,
    card: z.enum(cardBehaviors).describe('How'),
    fromPaymentNumber: z.int().positive().optional().describe('From which payment on. Default: the next one'),
  }),
  z.strictObject({
    event: z.literal('marked_paid').describe('A missed payment, or the next one, was paid another way'),
    at: happened,
    paymentNumber: z.int().positive().describe('Which'),
  }),
  z.strictObject({ event: z.literal('resumed').describe('It collects again after attention'), at: happened }),
  z.strictObject({ event: z.literal('canceled').describe('It was ended for good'), at: happened }),
])

export const Subscription = z.strictObject({
  ref,
  id: FixedId('sub'),
  paymentIntentId: FixedId('pmi'),
  mandateId: FixedId('mdt'),
  wallet: wallet.describe("Where the money lands. Default: the party's default wallet"),
  description: Description(200).describe('What the payer pays for'),
  every: z
    .strictObject({
      unit: z.enum(['week', 'month']).describe('Of the interval'),
      count: z.int().positive().describe('How many of them'),
    })
    .default({ unit: 'month', count: 1 })
    .describe('1 to 25 weeks or 1 to 5 months. Default: each month'),
  amount: RequestedCents.optional().describe('Cents a payment, tax included, without end'),
  totalAmount: RequestedCents.optional().describe('Cents in all, in paymentCount payments'),
  paymentCount: z.int().min(2).max(4).optional().describe('With totalAmount'),
  taxAmount: CentsOrZero.default(0).describe('Cents of it that are tax'),
  createdAt: at('it was created', 'when payment 1 was paid, or when the world begins'),
  checkoutExpiresAt: Moment.nullable()
    .optional()
    .describe('Until when payment 1 can be paid; null: without end. Default: a day after it was created'),
  paidAt: Moment.optional().describe(
    'When payment 1 was paid: the others fell due from that day on, and were charged or missed as the card behaves. Default: it was not',
  ),
  card: z
    .enum(cardBehaviors)
    .default('approves')
    .describe("How the payer's card behaves from payment 2 on; payment 1 was approved"),
  history: z.array(SubscriptionEvent).max(1000).optional().describe('What else happened, in the order of time'),
  agent: RefTo('The agent of the party that asked for it. Default: none').optional(),
  instanceId,
})
