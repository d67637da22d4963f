import type { CancelReason, InvitationStatus } from '../../rules/customer-invitations.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A developer asks a recipient to delegate to an agent. */
export const customerInvitations = table({
  '0005_invitations': {
    id: text,
    /** The developer's: the party of the agent. */
    partyId: text,
    agentId: text,
    recipientType: text as Column<'email' | 'phone' | 'party_id'>,
    /** Lower case, or E.164. */
    recipient: text,
    /** JSON array. */
    permissions: text,
    /** JSON object or null. */
    limits: nullable(text),
    status: text as Column<InvitationStatus>,
    cancelReason: nullable(text as Column<CancelReason>),
    message: nullable(text),
    /** JSON object of texts. */
    tags: text,
    /** SHA-256 of the token in the address of its page, which is derived and not stored. */
    tokenHash: text,
    /** Who accepted or declined. */
    customerPartyId: nullable(text),
    createdByAgentId: nullable(text),
    createdInstanceId: nullable(text),
    canceledByAgentId: nullable(text),
    canceledInstanceId: nullable(text),
    version: integer,
    expiresAtMs: bigint,
    /** `expiresAtMs` while it is pending. */
    pendingUntilMs: nullable(bigint),
    acceptedAtMs: nullable(bigint),
    declinedAtMs: nullable(bigint),
    createdAtMs: bigint,
    updatedAtMs: bigint,
    $checks: { pending_ends: `("pendingUntilMs" is not null) = ("status" = 'PENDING')` },
    $indexes: ['partyId id', 'partyId recipient id', 'agentId id'],
    $uniqueIndexes: ['tokenHash'],
    $namedIndexes: { pending: '("pendingUntilMs") where "pendingUntilMs" is not null' },
  },
  '0020_lists': {
    $indexes: ['partyId status id', 'partyId recipient status id', 'agentId status id', 'agentId recipient status id'],
    $droppedIndexes: ['partyId id', 'partyId recipient id', 'agentId id'],
  },
  '0021_totals_and_due': {
    $namedIndexes: { party_pending: '("partyId", "pendingUntilMs", "id") where "pendingUntilMs" is not null' },
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
  },
})

export type CustomerInvitationRow = RowOf<typeof customerInvitations>
