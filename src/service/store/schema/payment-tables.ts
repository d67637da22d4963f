import type { PaymentStatus } from '../../rules/payments.ts'

/** Money that a party sends, and what a sandbox deposit brings in. */
export interface PaymentRow {
  id: string
  /** `payment` is a payment on the wire; the others are transfers, `internal` between two wallets of the party. */
  kind: 'payment' | 'wire' | 'deposit' | 'internal'
  /** Whose wallet it is: the sender's, of a deposit the receiver's. */
  partyId: string
  walletId: string
  /** An agent of another party started it, with a grant of this one's. */
  delegated: 0 | 1
  actorType: 'agent' | 'user' | 'api'
  agentId: string | null
  instanceId: string | null
  amountCents: number
  currency: 'USD'
  status: PaymentStatus
  description: string | null
  /** JSON object. */
  tags: string
  /** Null while nobody known is to be paid; of wires and deposits always. */
  recipientPartyId: string | null
  recipientAgentId: string | null
  /** The e-mail address or phone number of a recipient who was unknown. */
  claimant: string | null
  /** SHA-256 of the claim link's token, which is not stored. */
  claimTokenHash: string | null
  /** What waits in `held` to be claimed. */
  heldCents: number
  /**
   * JSON: where a wire goes, the account number cut down to its last four digits; of an internal transfer the `walletId`
   * that is paid.
   */
  beneficiary: string | null
  transactionId: string | null
  version: number
  createdAtMs: number
  updatedAtMs: number
}

/** What has to be decided before a payment goes on. The database allows one for each. */
export interface ApprovalRow {
  id: string
  partyId: string
  walletId: string
  paymentId: string
  status: 'pending' | 'approved' | 'denied' | 'canceled'
  /** JSON array of `LimitReason`. */
  reasons: string
  denialReason: string | null
  version: number
  createdAtMs: number
  updatedAtMs: number
  resolvedAtMs: number | null
}

/** Money that arrived, as both sides see it. */
export interface TransactionRow {
  id: string
  transactionType: 'payment' | 'transfer'
  /** The payment, wire or deposit that moved it; of a subscription's charge its key. */
  paymentId: string
  /** Of a charge: the subscription, which a payer outside pays. */
  subscriptionId: string | null
  /** Null outside the service. */
  sourcePartyId: string | null
  sourceWalletId: string | null
  destinationPartyId: string | null
  destinationWalletId: string | null
  delegated: 0 | 1
  amountCents: number
  currency: 'USD'
  description: string | null
  createdAtMs: number
}
