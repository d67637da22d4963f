import type { PurchaseStatus } from '../../rules/card-purchases.ts'
import { bigint, type Column, filled, integer, nullable, type RowOf, table, text } from './table.ts'

export const cardTransactions = table({
  '0001_first_schema': {
    id: text,
    partyId: text,
    walletId: text,
    cardId: text,
    kind: text as Column<'purchase' | 'refund'>,
    /** The purchase that a refund returns. */
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
    /** When an authorization that nobody captured lapses. */
    holdExpiresAtMs: nullable(bigint),
    createdAtMs: bigint,
    updatedAtMs: bigint,
    $checks: {
      amount_not_negative: '"amountCents" >= 0',
      captured_within_amount: '"capturedCents" between 0 and "amountCents"',
      held_within_rest: '"heldCents" between 0 and "amountCents" - "capturedCents"',
      refunded_within_captured: '"refundedCents" between 0 and "capturedCents"',
    },
    $indexes: ['partyId id', 'cardId id'],
    $namedIndexes: { hold: '("holdExpiresAtMs") where "holdExpiresAtMs" is not null' },
  },
  '0013_spending': {
    $indexes: ['partyId createdAtMs'],
  },
  '0020_lists': {
    holder: filled(bigint, '0'),
    $indexes: ['partyId status id', 'cardId status id', 'holder status id'],
    $droppedIndexes: ['partyId id', 'cardId id'],
  },
  '0021_totals_and_due': {
    $namedIndexes: { party_hold: '("partyId", "holdExpiresAtMs", "id") where "holdExpiresAtMs" is not null' },
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
  },
  '0043_activity_lists': {
    /** The agent that the card was issued to; `agentId` is the one that caused this. */
    cardAgentId: filled(text, ''),
    $dropped: ['holder'],
    $droppedIndexes: ['holder status id'],
    $indexes: ['cardAgentId walletId status id'],
  },
})

export type CardTransactionRow = RowOf<typeof cardTransactions>
