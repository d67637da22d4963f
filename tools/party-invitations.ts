import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { reading, removing, writing } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

export const partyInvitationStatuses = ['PENDING', 'ACCEPTED', 'DECLINED', 'REVOKED'] as const
const roles = ['ADMIN', 'MEMBER'] as const

/** An invitation for a person to join a party. */
export const PartyInvitation = resource(
  'invitation',
  Id('inv'),
  {
    email: z.string(),
    role: z.enum(roles),
    status: z.enum(partyInvitationStatuses),
    url: secret(z.url().nullable()).describe('Where the person joins or declines; null once it ended'),
    expiresAt: Timestamp.describe('Until then the person can join'),
    acceptedAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

const Email = z.email().max(320)

const shared = {
  output: PartyInvitation,
  toolsets: ['agents'],
  extension: false,
} as const

export const partyInvitations = {
  listPartyInvitations: defineOperation({
    ...shared,
    ...reading,
    result: 'page',
    name: 'list_party_invitations',
    title: 'List invitations to your party',
    description:
      'Lists whom your party asked to join it, newest first. Customers are invited by create_customer_invitation.',
    path: '/party-invitations',
    query: listQuery({
      partyId: ArgumentId('pty', 'Your own party').optional(),
      email: Email.describe('Only to this address').optional(),
      status: z.enum(partyInvitationStatuses).describe('Only these').optional(),
    }),
    permission: 'party_invitations.read',
    errors: [],
  }),

  createPartyInvitations: defineOperation({
    ...shared,
    ...writing,
    result: 'several',
    idempotency: 'ignored',
    name: 'create_party_invitations',
    title: 'Invite people to your party',
    description:
      'Asks people to join your party as ADMIN or MEMBER. Give each their url; meta.failed says who was not asked, and why.',
    path: '/party-invitations',
    attributes: z.strictObject({
      invitations: z
        .array(
          z.strictObject({
            email: Email.describe('Whom to invite'),
            role: z.enum(roles).describe('What they may become'),
          }),
        )
        .min(1)
        .max(100)
        .describe('Up to 100'),
    }),
    meta: z.object({ failed: z.array(z.object({ email: z.string(), error: z.string() })) }),
    answers: 201,
    permission: 'party_invitations.create',
    setsState: true,
    errors: [],
  }),

  revokePartyInvitation: defineOperation({
    ...shared,
    ...removing,
    name: 'revoke_party_invitation',
    title: 'Revoke an invitation to your party',
    description: 'Ends a pending invitation to your party. Who has joined is removed by remove_party_member.',
    path: '/party-invitations/{invitationId}',
    params: z.strictObject({ invitationId: ArgumentId('inv') }),
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'party_invitations.revoke',
    errors: ['not_found', 'conflict'],
    example: { attributes: { status: 'REVOKED', url: null } },
  }),
} as const
