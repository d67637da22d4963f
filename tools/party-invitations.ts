import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
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
    url: secret(z.url().nullable()).describe('The page for joining or declining; null once the invitation has ended'),
    expiresAt: Timestamp.describe('The person can join until this time'),
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
    ...readOperation,
    result: 'page',
    name: 'list_party_invitations',
    title: 'List invitations to your party',
    description: 'Lists invitations to join your party, newest first. To invite customers: create_customer_invitation.',
    path: '/party-invitations',
    query: listQuery({
      partyId: ArgumentId('pty', 'Your own party').optional(),
      email: Email.describe('Only to this email address').optional(),
      status: z.enum(partyInvitationStatuses).describe('Only this status').optional(),
    }),
    permission: 'party_invitations.read',
    errors: [],
  }),

  createPartyInvitations: defineOperation({
    ...shared,
    ...writeOperation,
    result: 'several',
    idempotency: 'ignored',
    name: 'create_party_invitations',
    title: 'Invite people to your party',
    description:
      'Invites people to join your party as ADMIN or MEMBER. Send each person their url. meta.failed: people not invited, and why.',
    path: '/party-invitations',
    attributes: z.strictObject({
      invitations: z
        .array(
          z.strictObject({
            email: Email.describe('Address of the person'),
            role: z.enum(roles).describe('Role of the person who joins'),
          }),
        )
        .min(1)
        .max(100)
        .describe('People to invite'),
    }),
    meta: z.object({ failed: z.array(z.object({ email: z.string(), error: z.string() })) }),
    answers: 201,
    permission: 'party_invitations.create',
    setsState: true,
    errors: [],
  }),

  revokePartyInvitation: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'revoke_party_invitation',
    title: 'Revoke an invitation to your party',
    description: 'Revokes a pending invitation to your party. To remove a person who has joined: remove_party_member.',
    path: '/party-invitations/{invitationId}',
    params: z.strictObject({ invitationId: ArgumentId('inv') }),
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'party_invitations.revoke',
    errors: ['not_found', 'conflict'],
    example: { attributes: { status: 'REVOKED', url: null } },
  }),
} as const
