import type { CancelReason, InvitationStatus } from '../../rules/customer-invitations.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A developer's invitation that asks a customer to grant permissions to an agent. */
export const customerInvitations = table({
  id: text,
  /** The developer's party, which owns the agent. */
  partyId: text,
  agentId: text,
  recipientType: text as Column<'email' | 'phone' | 'party_id'>,
  /** An email address in lower case, a phone number in E.164 format, or a party id. */
  recipient: text,
  /** JSON array. */
  permissions: text,
  /** JSON object or null. */
  limits: nullable(text),
  status: text as Column<InvitationStatus>,
  cancelReason: nullable(text as Column<CancelReason>),
  message: nullable(text),
  /** JSON object of strings. */
  tags: text,
  /** SHA-256 of the token in the URL of the invitation's page. The token is not stored, but derived from a root key. */
  tokenHash: text,
  /** The party that accepted or declined the invitation. */
  customerPartyId: nullable(text),
  createdByAgentId: nullable(text),
  createdInstanceId: nullable(text),
  canceledByAgentId: nullable(text),
  canceledInstanceId: nullable(text),
  version: integer,
  expiresAtMs: bigint,
  /** Equals `expiresAtMs` while the invitation is pending; null afterwards. */
  pendingUntilMs: nullable(bigint),
  acceptedAtMs: nullable(bigint),
  declinedAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  $tenant: 'partyId',
  $checks: { pending_ends: `("pendingUntilMs" is not null) = ("status" = 'PENDING')` },
  $indexes: ['partyId status id', 'partyId recipient status id', 'agentId status id', 'agentId recipient status id'],
  $uniqueIndexes: ['tokenHash'],
  $namedIndexes: {
    pending: '("pendingUntilMs") where "pendingUntilMs" is not null',
    party_pending: '("partyId", "pendingUntilMs", "id") where "pendingUntilMs" is not null',
  },
})

export type CustomerInvitationRow = RowOf<typeof customerInvitations>
