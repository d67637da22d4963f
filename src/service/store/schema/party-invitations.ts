import type { partyInvitationStatuses } from '../../../../tools/party-invitations.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** An invitation for a person to join a party. */
export const partyInvitations = table({
  id: text,
  partyId: text,
  /** The email address in lower case. */
  email: text,
  role: text as Column<'ADMIN' | 'MEMBER'>,
  status: text as Column<(typeof partyInvitationStatuses)[number]>,
  /** SHA-256 of the token in the URL of the invitation's page. The token is not stored, but derived from a root key. */
  tokenHash: text,
  /** The user who accepted the invitation; null until then. */
  userId: nullable(text),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'partyId email status id'],
  $uniqueIndexes: ['tokenHash'],
})

export type PartyInvitationRow = RowOf<typeof partyInvitations>
