import type { CancelReason, InvitationStatus } from '../../rules/customer-invitations.ts'

/** A developer asks a recipient to delegate to an agent. */
export interface CustomerInvitationRow {
  id: string
  /** The developer's: the party of the agent. */
  partyId: string
  agentId: string
  recipientType: 'email' | 'phone' | 'party_id'
  /** Lower case, or E.164. */
  recipient: string
  /** JSON array. */
  permissions: string
  /** JSON object or null. */
  limits: string | null
  status: InvitationStatus
  cancelReason: CancelReason | null
  message: string | null
  /** JSON object of texts. */
  tags: string
  /** SHA-256 of the token in the address of its page, which is derived and not stored. */
  tokenHash: string
  /** Who accepted or declined. */
  customerPartyId: string | null
  createdByAgentId: string | null
  createdInstanceId: string | null
  canceledByAgentId: string | null
  canceledInstanceId: string | null
  version: number
  expiresAtMs: number
  /** `expiresAtMs` while it is pending. */
  pendingUntilMs: number | null
  acceptedAtMs: number | null
  declinedAtMs: number | null
  createdAtMs: number
  updatedAtMs: number
}
