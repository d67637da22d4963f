import { z } from 'zod'
import { AgentLimits } from '../../tools/agents.ts'
import { ComplianceCase, partyStatuses } from '../../tools/parties.ts'
import { Formed, Text } from '../../tools/schemas.ts'
import { Customer, Invitation, InvitationLink } from './connections.ts'
import { FixedId, listOf, Moment, Ref } from './fields.ts'
import { Card, Deposit, InternalTransfer, Payment, Subscription, Wire } from './money.ts'
import { OpenShops } from './open-shops.ts'
import { Agent, ApiKey, Profile, User, Wallet } from './people.ts'

const partyShape = z.strictObject({
  ref: Ref.optional().describe('What it is called in this file'),
  id: FixedId('pty'),
  type: z.enum(['ORG', 'PERSON']).default('ORG').describe('What it is'),
  displayName: Text(100).optional().describe('What people call it. Default: its name in this file'),
  email: z.email().max(320).optional().describe('Its address, by which it is paid and invited'),
  phone: Formed(/^\+[1-9][0-9]{6,14}$/, 'a phone number such as +14155550123').optional(),
  handle: Formed(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'words of a-z and 0-9 with single dashes between them')
    .max(60)
    .optional()
    .describe('Its handle, without the @'),
  profile: Profile.optional().describe('What else is known of it'),
  compliance: ComplianceCase.shape.attributes.shape.status
    .optional()
    .describe('How far its compliance case is. Default: there is none'),
  status: z
    .enum(partyStatuses)
    .optional()
    .describe(
      'What it is when the world begins; SUSPENDED or INACTIVE, its unused cards, invitations and links have ended. Default: what its compliance case makes it, else ACTIVE',
    ),
  issuedCardsEnabled: z.boolean().default(true).describe('Whether cards are issued on its wallets'),
  limits: AgentLimits.optional().describe(
    'Caps on all that leaves its wallets; beyond them a payment is reviewed. Cents',
  ),
  createdAt: Moment.optional().describe('When it joined. Default: a day before the first thing that the file dates'),
  users: listOf(User).optional().describe('People who sign in for it'),
  wallets: listOf(Wallet)
    .refine((wallets) => wallets.length > 0, 'must have a wallet, or be left out')
    .optional()
    .describe('Where its money is. Default: one, without money'),
  agents: listOf(Agent).optional().describe('Its agents'),
  apiKeys: listOf(ApiKey)
    .optional()
    .describe('Keys that act as the party. Default: one for the first party, else none'),
  customers: listOf(Customer, 'customer').optional().describe('What other parties granted its agents'),
  invitations: listOf(Invitation).optional().describe('Whom it asked to become a customer'),
  invitationLinks: listOf(InvitationLink).optional().describe('Links by which anybody becomes a customer'),
  cards: listOf(Card).optional().describe('Cards on its wallets, with their purchases'),
  payments: listOf(Payment).optional().describe('Payments that it sent'),
  wires: listOf(Wire).optional().describe('Money that it sent to accounts at banks'),
  deposits: listOf(Deposit).optional().describe('Money that came from outside, besides what its wallets begin with'),
  internalTransfers: listOf(InternalTransfer).optional().describe('Money that it moved between its wallets'),
  subscriptions: listOf(Subscription).optional().describe('By which payers pay it'),
})

/** The fields of a world file, before they are compared with each other. */
export const worldShape = z.strictObject({
  name: Text(100).optional().describe('What the world is called'),
  clock: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("What the sandbox's clock shows when the world begins, such as 2026-01-31T09:00:00Z. Default: real time"),
  rehearsal: z.boolean().default(false).describe('An agent is rehearsed: agents do not manage the sandbox'),
  shops: OpenShops.optional().describe(
    "The shops that are open: one of the package's by its name or id, or one of your own. Default: all of the package's",
  ),
  parties: listOf(partyShape)
    .refine((parties) => parties.length > 0, 'must have a party')
    .describe('Who has accounts; the first one manages the sandbox'),
})

export type WorldShape = z.output<typeof worldShape>
export type WorldParty = z.output<typeof partyShape>
