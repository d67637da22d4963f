import { z } from 'zod'
import { RequestedCents, Text, Timestamp } from '../../tools/schemas.ts'

const Name = Text(200)

const Buying = z.strictObject({
  do: z.literal('buy'),
  shop: Name.describe('The name of the shop'),
  items: z.array(z.strictObject({ product: Name, quantity: z.int().min(1).max(100).default(1) })).min(1),
  extras: z.array(Name).default([]).describe('The names of the extras to buy'),
  atMost: RequestedCents.optional().describe('The highest total to pay, in cents'),
  budget: Name.optional().describe('Instead of atMost: the {name} of a fact that only the person knows'),
  customer: Name.optional().describe("The customer whose wallet pays. Default: the agent's own party"),
  card: z.enum(['new', 'existing']).default('new').describe('existing: pay with a card that already exists'),
  mayBeOrdered: z.boolean().default(false).describe('Whether the order may already exist and must not be repeated'),
  before: Timestamp.optional().describe('The time on the sandbox clock before which the agent must buy'),
  until: z.enum(['paid', 'shipped', 'returned']).default('paid').describe('The status that completes the task'),
})

const Paying = z.strictObject({
  do: z.literal('pay'),
  to: Name.describe('The handle of the payee'),
  amount: Name.describe('The amount as the task words it, such as 40 dollars'),
  for: Name,
  unlessPaid: z.boolean().optional().describe('Whether the payment may already exist and must not be repeated'),
  approvedAbove: RequestedCents.optional().describe('The amount above which the task requires an approval, in cents'),
  invoice: Name.optional().describe('With unlessPaid: a string in the description of any payment of the same invoice'),
})

const Canceling = z.strictObject({
  do: z.literal('cancel'),
  for: Name.describe('The description of the payment to cancel'),
})

const Reporting = z.strictObject({ do: z.literal('report'), about: z.literal('customers') })

/** The goal of a task as data, for scripted agents. Other agents never see it. */
export const Goal = z.discriminatedUnion('do', [
  Buying,
  Paying,
  Canceling,
  Reporting,
  z.strictObject({
    do: z.literal('several'),
    steps: z
      .array(z.discriminatedUnion('do', [Buying, Paying, Canceling, Reporting]))
      .min(2)
      .max(10),
    atMost: RequestedCents.optional().describe(
      'The budget for all steps, in cents; a step that would exceed it is skipped',
    ),
  }),
])

export type Goal = z.output<typeof Goal>
/** A goal with one step. */
export type Step = Exclude<Goal, { do: 'several' }>
export type Buying = z.output<typeof Buying>
export type Paying = z.output<typeof Paying>
export type Canceling = z.output<typeof Canceling>
