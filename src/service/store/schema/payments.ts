import type { PaymentStatus } from '../../rules/payments.ts'
import { bigint, type Column, flag, integer, nullable, type RowOf, table, text } from './table.ts'

/** The parties' payments and transfers, including deposits. */
export const payments = table({
  id: text,
  /**
   * All kinds except `payment` are called transfers in the API. `internal` moves money between the party's own wallets.
   */
  kind: text as Column<'payment' | 'wire' | 'deposit' | 'withdrawal' | 'internal'>,
  /** The party that owns the wallet: the sender, or the recipient of a deposit. */
  partyId: text,
  walletId: text,
  actorType: text as Column<'agent' | 'user' | 'api'>,
  agentId: nullable(text),
  instanceId: nullable(text),
  currency: text as Column<'USD'>,
  status: text as Column<PaymentStatus>,
  description: nullable(text),
  /** JSON object. */
  tags: text,
  /** For a payment, null while the recipient has no party. Always null for the other kinds. */
  recipientPartyId: nullable(text),
  recipientAgentId: nullable(text),
  /** The email address or phone number of a recipient who had no party when the payment was sent. */
  claimant: nullable(text),
  /** SHA-256 of the token in the claim link. The token itself is not stored. */
  claimTokenHash: nullable(text),
  /**
   * JSON. For a wire, the destination account, with only the last four digits of the account number. For an internal
   * transfer, the `walletId` of the receiving wallet.
   */
  beneficiary: nullable(text),
  transactionId: nullable(text),
  /** Whether another party's agent started the payment or transfer under a grant from this party. */
  delegated: flag,
  version: integer,
  amountCents: bigint,
  /** The amount on hold while a payment waits to be claimed, or while the bank processes a withdrawal. */
  heldCents: bigint,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  /** The linked bank account that the money comes from or goes to. */
  externalAccountId: nullable(text),
  /** For a bank transfer, `standard`, `instant` or `wire`. For a payment, `card` if it was made by card. */
  method: nullable(text as Column<'standard' | 'instant' | 'wire' | 'card'>),
  /** The payment request that this payment fulfills. */
  paymentRequestId: nullable(text),
  /** The time of the bank's next step; null if no step is planned. */
  bankDueAtMs: nullable(bigint),
  submittedAtMs: nullable(bigint),
  settledAtMs: nullable(bigint),
  /** The reason why the bank refused the transfer, as JSON: `{code, reason}`. */
  failure: nullable(text),
  /** The reason why the bank returned the transfer, as JSON: `{code, reason, returnedAtMs}`. */
  returned: nullable(text),
  $tenant: 'partyId',
  $checks: {
    amount_positive: '"amountCents" > 0',
    holds_until_gone: `"heldCents" = case when "status" = 'PENDING_CLAIM' or ("kind" = 'withdrawal' and "status" = 'PROCESSING') then "amountCents" else 0 end`,
  },
  $indexes: ['partyId id', 'claimant status', 'partyId walletId id', 'id'],
  $uniqueIndexes: ['claimTokenHash'],
  $namedIndexes: {
    bank_due: '("bankDueAtMs") where "bankDueAtMs" is not null',
    party_bank_due: '("partyId", "bankDueAtMs", "id") where "bankDueAtMs" is not null',
    account_in_review: `("partyId", "externalAccountId") where "status" = 'IN_REVIEW' and "externalAccountId" is not null`,
  },
})

export type PaymentRow = RowOf<typeof payments>
