import type { PaymentStatus } from '../../rules/payments.ts'
import { bigint, type Column, flag, integer, nullable, type RowOf, table, text } from './table.ts'

/** Money that a party sends, and what a sandbox deposit brings in. */
export const payments = table({
  id: text,
  /** `payment` is a payment on the wire; the others are transfers, `internal` between two wallets of the party. */
  kind: text as Column<'payment' | 'wire' | 'deposit' | 'withdrawal' | 'internal'>,
  /** Whose wallet it is: the sender's, of a deposit the receiver's. */
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
  /** Null while nobody known is to be paid; of wires and deposits always. */
  recipientPartyId: nullable(text),
  recipientAgentId: nullable(text),
  /** The e-mail address or phone number of a recipient who was unknown. */
  claimant: nullable(text),
  /** SHA-256 of the claim link's token, which is not stored. */
  claimTokenHash: nullable(text),
  /**
   * JSON: where a wire goes, the account number cut down to its last four digits; of an internal transfer the `walletId`
   * that is paid.
   */
  beneficiary: nullable(text),
  transactionId: nullable(text),
  /** An agent of another party started it, with a grant of this one's. */
  delegated: flag,
  version: integer,
  amountCents: bigint,
  /** What waits in `held` to be claimed. */
  heldCents: bigint,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  /** The bank account that a deposit comes from, or a withdrawal goes to. */
  externalAccountId: nullable(text),
  /** How a transfer from or to a bank goes: `standard`, `instant` or `wire`; of a payment `card` where one paid it. */
  method: nullable(text as Column<'standard' | 'instant' | 'wire' | 'card'>),
  /** The request that a payment fulfills. */
  paymentRequestId: nullable(text),
  /** When the bank does its part next; null: it has none. */
  bankDueAtMs: nullable(bigint),
  submittedAtMs: nullable(bigint),
  settledAtMs: nullable(bigint),
  /** JSON of `{code, reason}`: why the bank refused it. */
  failure: nullable(text),
  /** JSON of `{code, reason, returnedAtMs}`: why the bank sent it back. */
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
