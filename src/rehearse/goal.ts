import { z } from 'zod'
import { RequestedCents, Text } from '../../tools/schemas.ts'

const Name = Text(200)

/** The goal of a task as data, for scripted agents. Other agents never see it. */
export const Goal = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('buy'),
    shop: Name.describe('The shop, by the name that the task says'),
    items: z.array(z.strictObject({ product: Name, quantity: z.int().min(1).max(100).default(1) })).min(1),
    atMost: RequestedCents.optional().describe('Cents in all'),
    customer: Name.optional().describe("The customer whose wallet pays. Default: the agent's own party"),
    card: z.enum(['new', 'existing']).default('new').describe('existing: no other one than there is'),
    mayBeOrdered: z
      .boolean()
      .default(false)
      .describe('Whether it may have been ordered before, and is not to be again'),
    until: z.enum(['paid', 'shipped', 'returned']).default('paid').describe('Until when it goes on'),
  }),
  z.strictObject({
    do: z.literal('pay'),
    to: Name.describe('A handle'),
    amount: Name.describe('As the task says it, such as 40 dollars'),
    for: Name,
  }),
  z.strictObject({ do: z.literal('report'), about: z.literal('customers') }),
])

export type Goal = z.output<typeof Goal>

export type Buying = Extract<Goal, { do: 'buy' }>
export type Paying = Extract<Goal, { do: 'pay' }>
