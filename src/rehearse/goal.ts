import { z } from 'zod'
import { RequestedCents, Text } from '../../tools/schemas.ts'

const Name = Text(200)

const Buying = z.strictObject({
  do: z.literal('buy'),
  shop: Name.describe('The shop, by the name that the task says'),
  items: z.array(z.strictObject({ product: Name, quantity: z.int().min(1).max(100).default(1) })).min(1),
  extras: z.array(Name).default([]).describe('Extras of the shop that are wanted, by their names'),
  atMost: RequestedCents.optional().describe('Cents in all'),
  budget: Name.optional().describe('Instead of atMost, a {name} of what only the person knows'),
  customer: Name.optional().describe("The customer whose wallet pays. Default: the agent's own party"),
  card: z.enum(['new', 'existing']).default('new').describe('existing: no other one than there is'),
  mayBeOrdered: z.boolean().default(false).describe('Whether it may have been ordered before, and is not to be again'),
  until: z.enum(['paid', 'shipped', 'returned']).default('paid').describe('Until when it goes on'),
})

const Paying = z.strictObject({
  do: z.literal('pay'),
  to: Name.describe('A handle'),
  amount: Name.describe('As the task says it, such as 40 dollars'),
  for: Name,
  unlessPaid: z.boolean().optional().describe('Whether it may have been paid for the same, and is not to be again'),
})

const Canceling = z.strictObject({
  do: z.literal('cancel'),
  for: Name.describe('The description of the payment that is to be taken back'),
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
    atMost: RequestedCents.optional().describe('Cents for all steps; a step that would exceed them is left out'),
  }),
])

export type Goal = z.output<typeof Goal>
/** A goal of one step. */
export type Step = Exclude<Goal, { do: 'several' }>
export type Buying = z.output<typeof Buying>
export type Paying = z.output<typeof Paying>
export type Canceling = z.output<typeof Canceling>
