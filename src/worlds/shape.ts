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
  ref: Ref.optional().describe('Its name in this file'),
  id: FixedId('pty'),
  type: z.enum(['ORG', 'PERSON']).default('ORG').describe('Its type'),
  displayName: Text(100).optional().describe('Its display name. Default: its name in this file'),
  email: z.email().max(320).optional().describe('Its email address, to which payments and invitations can be sent'),
  phone: Formed(/^\+[1-9][0-9]{6,14}$/, 'a phone number such as +14155550123')
    .optional()
    .describe('Its phone number'),
  handle: Formed(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'words of a-z and 0-9 with single dashes between them')
    .max(60)
    .optional()
    .describe('Its handle, without the @'),
  profile: Profile.optional().describe('Further details'),
  compliance: ComplianceCase.shape.attributes.shape.status
    .optional()
    .describe('The status of its compliance case. Default: no case'),
  status: z
    .enum(partyStatuses)
    .optional()
    .describe(
      'Its status when the world begins. If SUSPENDED or INACTIVE, its unused cards, invitations and links have ended. Default: implied by its compliance case; ACTIVE if it has none',
    ),
  issuedCardsEnabled: z.boolean().default(true).describe('Whether cards can be issued on its wallets'),
  limits: AgentLimits.optional().describe(
    'Limits on all payments from its wallets, in cents. A payment that exceeds them needs approval',
  ),
  createdAt: Moment.optional().describe('When it joined. Default: a day before the first dated event of the file'),
  users: listOf(User).optional().describe('People who can sign in for it'),
  wallets: listOf(Wallet)
    .refine((wallets) => wallets.length > 0, 'must contain at least one wallet, or be left out')
    .optional()
    .describe('Its wallets. Default: one empty wallet'),
  agents: listOf(Agent).optional().describe('Its agents'),
  apiKeys: listOf(ApiKey)
    .optional()
    .describe('Keys that act as the party. Default: one for the first party, else none'),
  customers: listOf(Customer, 'customer').optional().describe('Grants from other parties to its agents'),
  invitations: listOf(Invitation).optional().describe('Invitations to become a customer'),
  invitationLinks: listOf(InvitationLink).optional().describe('Links through which anyone can become a customer'),
  cards: listOf(Card).optional().describe('Cards on its wallets, with their purchases'),
  payments: listOf(Payment).optional().describe('Payments that it made'),
  wires: listOf(Wire).optional().describe('Wires to bank accounts'),
  deposits: listOf(Deposit).optional().describe('Money that came from outside. The balances already include it'),
  internalTransfers: listOf(InternalTransfer).optional().describe('Transfers between its wallets'),
  subscriptions: listOf(Subscription).optional().describe('Subscriptions that others pay to the party'),
})

/** The schema of a world file, without the checks that compare several fields. */
export const worldShape = z.strictObject({
  name: Text(100).optional().describe('The name of the world'),
  clock: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("The sandbox's time when the world begins, such as 2026-01-31T09:00:00Z. Default: real time"),
  rehearsal: z
    .boolean()
    .default(false)
    .describe('true if the world is for rehearsing an agent; agents then cannot manage the sandbox'),
  shops: OpenShops.optional().describe(
    'The open shops: built-in shops by name or id, and definitions of custom shops. Default: all built-in shops',
  ),
  parties: listOf(partyShape)
    .refine((parties) => parties.length > 0, 'must contain at least one party')
    .describe('The parties with accounts. The first one manages the sandbox'),
})

export type WorldShape = z.output<typeof worldShape>
export type WorldParty = z.output<typeof partyShape>
