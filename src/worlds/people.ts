import { z } from 'zod'
import { AgentLimits } from '../../tools/agents.ts'
import { Member } from '../../tools/parties.ts'
import { Description, Formed, Tags, Text } from '../../tools/schemas.ts'
import { delegable, scopes } from '../core/permissions.ts'
import { amountInCents } from '../core/schema-fields.ts'
import { secret } from '../core/secret-fields.ts'
import { FixedId, KeySecret, listOf, Moment, Ref, RefTo } from './fields.ts'

const ref = Ref.optional().describe('Its name in this file')
const tags = Tags.optional()
const createdAt = Moment.optional().describe(
  'When it was created. Default: a day before the first dated event of the file',
)

const profileText = Text(100).optional()

/** The further details of a party, such as its address. */
export const Profile = z.strictObject({
  legalName: profileText.describe('Its legal name'),
  firstName: profileText.describe("A person's first name"),
  lastName: profileText.describe("A person's last name"),
  avatarUrl: z.url().max(2_048).optional().describe('The address of its picture'),
  persona: z.enum(['INDIVIDUAL', 'DEVELOPER']).optional().describe('The kind of user that it is'),
  addressLine1: profileText.describe('Street and number'),
  addressCity: profileText.describe('City'),
  addressState: profileText.describe('State'),
  addressPostalCode: profileText.describe('Postal code'),
  addressCountry: profileText.describe('Country'),
})

/** A wallet's balance in cents. The maximum is so low that even the sum of thousands of balances is a safe integer. */
const Balance = amountInCents(z.int().nonnegative().max(999_999_999_999))

export const Wallet = z.strictObject({
  ref,
  id: FixedId('wal'),
  displayName: Text(32).optional().describe('Its display name. Default: Main wallet for the default wallet, else ref'),
  description: Description(100).optional().describe('Its purpose'),
  balance: Balance.optional().describe(
    'The available balance in cents when the world begins. It includes the effects of all events in the file, but no money on hold. Default: the wallet was funded with just enough for its events',
  ),
  status: z.enum(['active', 'frozen', 'closed']).default('active').describe('Its status when the world begins'),
  walletType: z.enum(['standard', 'vault']).default('standard').describe('Its type'),
  isDefault: z
    .boolean()
    .optional()
    .describe("Whether it is the party's default wallet for paying and being paid. Default: true for the first wallet"),
  tags,
  createdAt,
})

const permissions = z.array(z.enum(delegable)).max(delegable.length)

/** A key of an agent. */
const AgentKey = z.strictObject({
  ref,
  id: FixedId('agk'),
  secret: KeySecret('ak'),
  tags,
  createdBy: RefTo("The party's user who created it").optional(),
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working, for example after a rotation. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked. Default: not revoked'),
})

const Attachment = z.strictObject({
  wallet: RefTo('A wallet of the party'),
  permissions: permissions.default([...delegable]).describe("The agent's permissions on the wallet. Default: all"),
  isDefault: z.boolean().optional().describe('Whether the agent pays from it by default. Default: true for the first'),
})

export const Agent = z.strictObject({
  ref,
  id: FixedId('agt'),
  name: Text(100).optional().describe('Its display name. Default: its name in this file'),
  description: Description(500).optional().describe('Its task'),
  slug: Formed(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'words of a-z and 0-9 with single dashes between them')
    .max(40)
    .optional()
    .describe("The part of its handle after the party's handle: @party-slug. The party needs a handle"),
  limits: AgentLimits.optional().describe("Limits on what it may spend from its own party's wallets, in cents"),
  wallets: listOf(Attachment, 'wallet')
    .optional()
    .describe("The wallets it may use. Default: the party's default wallet, with all permissions"),
  keys: listOf(AgentKey).optional().describe('Its keys. Default: one'),
  status: z
    .enum(['ACTIVE', 'REVOKED'])
    .default('ACTIVE')
    .describe('REVOKED: it was deleted, together with its keys, cards, grants and invitations'),
  revokedAt: Moment.optional().describe('When it was deleted. Default: when the world begins'),
  tags,
  createdBy: RefTo("The party's user who created it").optional(),
  createdAt,
  lastActiveAt: Moment.optional().describe('When one of its keys was last used. Default: never'),
})

export const ApiKey = z.strictObject({
  ref,
  id: FixedId('apy'),
  name: Text(100).optional().describe('Its name. Default: its name in this file'),
  scopes: z
    .array(z.enum(scopes))
    .max(scopes.length)
    .default([...scopes])
    .describe('Its scopes. Default: all'),
  secret: KeySecret('sk'),
  tags,
  createdBy: RefTo("The party's user who created it").optional(),
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked. Default: not revoked'),
})

/** A token with which a program acts as a signed-in user. */
const UserToken = z.strictObject({
  ref,
  id: FixedId('utk'),
  secret: KeySecret('ut'),
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked. Default: not revoked'),
})

export const User = z.strictObject({
  ref,
  id: FixedId('usr'),
  name: Text(100).optional().describe('Their display name. Default: their name in this file'),
  email: z.email().max(320).describe('The address they sign in with'),
  role: z.enum(['OWNER', 'ADMIN', 'MEMBER']).default('OWNER').describe('Their role in the party'),
  password: secret(z.string().min(8).max(200))
    .optional()
    .describe(
      "The password to sign in with, for tests only. Default: none, but startup creates one for the first party's owner",
    ),
  tokens: listOf(UserToken).optional().describe('Tokens with which programs act as the user. Default: none'),
  status: Member.shape.attributes.shape.status
    .optional()
    .describe('REVOKED: they were removed from the party; DELETED: their account was deleted. Default: ACTIVE'),
  secondFactorAt: Moment.optional().describe('When they last passed a check of their second factor. Default: never'),
  createdAt,
})
