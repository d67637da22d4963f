import type { PurchaseStatus } from '../../rules/card-purchases.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const cardTransactions = table({
  id: text,
  partyId: text,
  walletId: text,
  cardId: text,
  kind: text as Column<'purchase' | 'refund'>,
  /** For a refund, the id of the refunded purchase; null for a purchase. */
  purchaseId: nullable(text),
  merchantName: text,
  currency: text as Column<'USD'>,
  status: text as Column<PurchaseStatus>,
  declineCode: nullable(text),
  agentId: nullable(text),
  instanceId: nullable(text),
  version: integer,
  amountCents: bigint,
  heldCents: bigint,
  capturedCents: bigint,
  refundedCents: bigint,
  /** The time at which the hold expires if the money has not been captured by then; null if nothing is held. */
  holdExpiresAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  /** The agent that the card was issued to. The agent that caused this transaction is in `agentId`. */
  cardAgentId: text,
  $tenant: 'partyId',
  $checks: {
    amount_not_negative: '"amountCents" >= 0',
    captured_within_amount: '"capturedCents" between 0 and "amountCents"',
    held_within_rest: '"heldCents" between 0 and "amountCents" - "capturedCents"',
    refunded_within_captured: '"refundedCents" between 0 and "capturedCents"',
  },
  $indexes: ['partyId status id', 'cardId status id', 'cardAgentId walletId status id'],
  $namedIndexes: {
    hold: '("holdExpiresAtMs") where "holdExpiresAtMs" is not null',
    party_hold: '("partyId", "holdExpiresAtMs", "id") where "holdExpiresAtMs" is not null',
  },
})

export type CardTransactionRow = RowOf<typeof cardTransactions>
