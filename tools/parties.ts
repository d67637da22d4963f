import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { amountInCents } from '../src/core/schema-fields.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Formed, Id, listQuery, RequestedCurrency, resource, Text, Timestamp, toOne } from './schemas.ts'

export const partyStatuses = ['ACTIVE', 'SUSPENDED', 'PROVISIONAL', 'INACTIVE'] as const

const nullableText = z.string().nullable()

/** A person or an organization that has wallets, agents and members. */
export const Party = resource('party', Id('pty'), {
  partyType: z.enum(['PERSON', 'ORG']),
  status: z.enum(partyStatuses),
  legalName: nullableText,
  firstName: nullableText,
  lastName: nullableText,
  displayName: nullableText,
  handle: nullableText,
  avatarUrl: nullableText,
  persona: z.enum(['INDIVIDUAL', 'DEVELOPER']).nullable(),
  email: nullableText,
  primaryPhone: nullableText,
  addressLine1: nullableText,
  addressCity: nullableText,
  addressState: nullableText,
  addressPostalCode: nullableText,
  addressCountry: nullableText,
  createdBy: nullableText,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const LimitCents = amountInCents(z.int().nonnegative().max(99_999_999_999))

/**
 * Limits, in cents, on the money that can leave a party's wallets without approval. Null: no limit. Days and months are
 * in UTC.
 */
export const PartyLimits = resource(
  'partyLimitPolicy',
  Id('pty'),
  {
    limits: z
      .object({
        perTransaction: LimitCents.nullable(),
        perDay: LimitCents.nullable(),
        perMonth: LimitCents.nullable(),
      })
      .nullable(),
    currency: z.enum(['USD']).nullable(),
    updatedAt: Timestamp.nullable(),
  },
  { party: toOne('party', 'pty') },
)

/** A person who belongs to a party. */
export const Member = resource(
  'user',
  Id('usr'),
  {
    partyId: Id('pty'),
    role: z.enum(['OWNER', 'ADMIN', 'MEMBER']),
    status: z.enum(['ACTIVE', 'REVOKED', 'DELETED']),
    firstName: nullableText,
    lastName: nullableText,
    email: nullableText,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

/** A removed member. The response to the removal contains only the id of the user. */
const RemovedMember = z.object({ type: z.literal('user'), id: Id('usr') })

/** A party's identity review. */
export const ComplianceCase = resource('compliance_case', Id('cmp'), {
  partyId: Id('pty'),
  status: z.enum(['preparingSubmission', 'submitted', 'actionRequired', 'approved', 'rejected']),
}).extend({ version: z.int() })

const shared = {
  output: Party,
  permission: 'party.read',
  toolsets: ['agents'],
  errors: [],
  extension: false,
} as const

const change = { ...shared, ...writeOperation, idempotency: 'ignored', permission: 'party.update' } as const
const Limit = LimitCents.nullable().optional()

export const parties = {
  getParty: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_party',
    title: 'Read your party',
    description: 'Reads your own party: name, handle and status. Your agent and key: whoami.',
    path: '/parties/me',
  }),

  updateParty: defineOperation({
    ...change,
    method: 'PATCH',
    name: 'update_party',
    title: 'Rename your party',
    description: "Changes your party's display name, which others see. To change its handle: set_party_handle.",
    path: '/parties/me',
    attributes: z.strictObject({
      displayName: Text(100).nullable().optional().describe('Null: show the legal name'),
    }),
    bodyOptional: true,
  }),

  setPartyHandle: defineOperation({
    ...change,
    method: 'PUT',
    name: 'set_party_handle',
    title: 'Set the handle',
    description:
      "Sets the @handle of your party. Its agents' handles start with it. The old handle stays reserved for 14 days.",
    path: '/parties/me/handle',
    attributes: z.strictObject({
      handle: Formed(
        /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/,
        'words of a-z and 0-9 with single - or _ between them, without @',
      ).max(60),
    }),
    errors: ['conflict'],
  }),

  getPartyLimits: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_party_limits',
    title: 'Read the limits of your party',
    description: "Reads how much can leave your party's wallets without approval. An agent's own limits: get_agent.",
    path: '/parties/me/limits',
    output: PartyLimits,
  }),

  setPartyLimits: defineOperation({
    ...change,
    method: 'PUT',
    name: 'set_party_limits',
    title: 'Set the limits of your party',
    description: "Sets how much can leave your party's wallets without approval. Limits that you omit are removed.",
    path: '/parties/me/limits',
    attributes: z.strictObject({
      perTransaction: Limit.describe('Cents'),
      perDay: Limit.describe('Cents; days are in UTC'),
      perMonth: Limit.describe('Cents; months are in UTC'),
      currency: RequestedCurrency.optional(),
    }),
    output: PartyLimits,
  }),

  clearPartyLimits: defineOperation({
    ...change,
    ...deleteOperation,
    idempotency: 'ignored',
    name: 'clear_party_limits',
    title: 'Clear the limits of your party',
    description: 'Removes all limits of your party; the limits of its agents stay.',
    path: '/parties/me/limits',
    output: PartyLimits,
    example: { attributes: { limits: null, currency: null } },
  }),

  listPartyMembers: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_party_members',
    title: 'List members',
    description: 'Lists the people in your party and their roles. People invited to join: list_party_invitations.',
    path: '/parties/me/members',
    query: listQuery({}),
    output: Member,
    permission: 'members.read',
  }),

  removePartyMember: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'remove_party_member',
    title: 'Remove a member',
    description: 'Removes a person from your party; they are signed out everywhere. The last owner cannot be removed.',
    path: '/parties/me/members/{userId}',
    params: z.strictObject({ userId: ArgumentId('usr') }),
    output: RemovedMember,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'members.remove',
    errors: ['not_found', 'conflict'],
  }),

  getPartyCompliance: defineOperation({
    ...shared,
    ...readOperation,
    result: 'oneOrNull',
    name: 'get_party_compliance',
    title: 'Read the identity review',
    description: "Reads the status of a party's compliance case; null: it has no case.",
    path: '/parties/{partyId}/compliance',
    params: z.strictObject({ partyId: ArgumentId('pty', "Your partyId (whoami) or a customer's") }),
    output: ComplianceCase,
    errors: ['not_found'],
  }),

  simulateComplianceDecision: defineOperation({
    ...shared,
    ...writeOperation,
    environments: ['sandbox'],
    name: 'simulate_compliance_decision',
    title: 'Decide a compliance case',
    description: 'Simulates the reviewer setting the status of a compliance case.',
    path: '/simulations/parties/{partyId}/compliance',
    params: z.strictObject({ partyId: ArgumentId('pty', "Your partyId (whoami) or a customer's") }),
    attributes: z.strictObject({
      status: ComplianceCase.shape.attributes.shape.status.describe('New status of the case'),
    }),
    output: ComplianceCase,
    permission: 'compliance.simulate',
    setsState: true,
    errors: ['not_found', 'conflict'],
    extension: true,
  }),
} as const
