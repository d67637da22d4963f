import { z } from 'zod'
import { AgentLimits } from '../../tools/agents.ts'
import { Member } from '../../tools/parties.ts'
import { Description, Formed, Tags, Text } from '../../tools/schemas.ts'
import { delegable, scopes } from '../core/permissions.ts'
import { amountInCents } from '../core/schema-fields.ts'
import { secret } from '../core/secret-fields.ts'
import { FixedId, KeySecret, listOf, Moment, Ref, RefTo } from './fields.ts'

const ref = Ref.optional().describe('What it is called in this file')
const tags = Tags.optional()
const createdAt = Moment.optional().describe(
  'When it was made. Default: a day before the first thing that the file dates',
)

const known = Text(100).optional()

/** A party's details beyond those that identify it. */
export const Profile = z.strictObject({
  legalName: known.describe('What it is called in law'),
  firstName: known.describe("A person's first name"),
  lastName: known.describe("A person's last name"),
  avatarUrl: z.url().max(2_048).optional().describe('The address of its picture'),
  persona: z.enum(['INDIVIDUAL', 'DEVELOPER']).optional().describe('What it uses the service as'),
  addressLine1: known.describe('Street and number'),
  addressCity: known.describe('City'),
  addressState: known.describe('State'),
  addressPostalCode: known.describe('Postal code'),
  addressCountry: known.describe('Country'),
})

/** Cents that a wallet has, at most what sums of many of them keep exact. */
const Balance = amountInCents(z.int().nonnegative().max(999_999_999_999))

export const Wallet = z.strictObject({
  ref,
  id: FixedId('wal'),
  displayName: Text(32).optional().describe('What people call it. Default: Main wallet, for a default wallet'),
  description: Description(100).optional().describe('What it is for'),
  balance: Balance.optional().describe(
    'Cents that can be spent when the world begins, after all that the file says has happened; what is held comes on top. Default: what is left where it was funded with no more than that takes',
  ),
  status: z.enum(['active', 'frozen', 'closed']).default('active').describe('What it is when the world begins'),
  walletType: z.enum(['standard', 'vault']).default('standard').describe('What kind it is'),
  isDefault: z.boolean().optional().describe('What the party pays from and is paid into. Default: its first wallet'),
  tags,
  createdAt,
})

const permissions = z.array(z.enum(delegable)).max(delegable.length)

/** A key of an agent's. */
const AgentKey = z.strictObject({
  ref,
  id: FixedId('agk'),
  secret: KeySecret('ak'),
  tags,
  createdBy: RefTo('The user of the party who made it').optional(),
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working, as after a rotation. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked. Default: it was not'),
})

const Attachment = z.strictObject({
  wallet: RefTo('A wallet of the party'),
  permissions: permissions.default([...delegable]).describe('What the agent holds on it. Default: all of them'),
  isDefault: z.boolean().optional().describe('What the agent pays from. Default: its first wallet'),
})

export const Agent = z.strictObject({
  ref,
  id: FixedId('agt'),
  name: Text(100).optional().describe('What people call it. Default: its name in this file'),
  description: Description(500).optional().describe('What it does'),
  slug: Formed(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'words of a-z and 0-9 with single dashes between them')
    .max(40)
    .optional()
    .describe('Its part of its handle, @party-slug; the party needs a handle'),
  limits: AgentLimits.optional().describe('Caps on what it spends of its own party, cents'),
  wallets: listOf(Attachment, 'wallet')
    .optional()
    .describe("The wallets it may use. Default: the party's default wallet, with all permissions"),
  keys: listOf(AgentKey).optional().describe('Its keys. Default: one'),
  status: z
    .enum(['ACTIVE', 'REVOKED'])
    .default('ACTIVE')
    .describe('REVOKED: it was deleted, with its keys, cards, grants and invitations'),
  revokedAt: Moment.optional().describe('When it was deleted. Default: when the world begins'),
  tags,
  createdBy: RefTo('The user of the party who made it').optional(),
  createdAt,
  lastActiveAt: Moment.optional().describe('When a key of it was last used. Default: never'),
})

export const ApiKey = z.strictObject({
  ref,
  id: FixedId('apy'),
  name: Text(100).optional().describe('What it is called. Default: its name in this file'),
  scopes: z
    .array(z.enum(scopes))
    .max(scopes.length)
    .default([...scopes])
    .describe('What it may do. Default: all'),
  secret: KeySecret('sk'),
  tags,
  createdBy: RefTo('The user of the party who made it').optional(),
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked. Default: it was not'),
})

/** With it a program acts as the user, as one does who signed in. */
const UserToken = z.strictObject({
  ref,
  id: FixedId('utk'),
  secret: KeySecret('ut'),
  createdAt,
  expiresAt: Moment.optional().describe('When it stops working. Default: never'),
  revokedAt: Moment.optional().describe('When it was revoked. Default: it was not'),
})

export const User = z.strictObject({
  ref,
  id: FixedId('usr'),
  name: Text(100).optional().describe('What people call them. Default: their name in this file'),
  email: z.email().max(320).describe('The address they sign in with'),
  role: z.enum(['OWNER', 'ADMIN', 'MEMBER']).default('OWNER').describe('What they are to the party'),
  password: secret(z.string().min(8).max(200))
    .optional()
    .describe("To sign in with, for tests only. Default: none; the start makes one for the first party's owner"),
  tokens: listOf(UserToken).optional().describe('Credentials by which programs act as the user. Default: none'),
  status: Member.shape.attributes.shape.status
    .optional()
    .describe('REVOKED: they were removed; DELETED: their account is. Default: ACTIVE'),
  secondFactorAt: Moment.optional().describe('When they last proved a second factor. Default: never'),
  createdAt,
})
