import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A request for a person's decision on a payment. A payment has at most one such request. */
export const approvals = table({
  id: text,
  partyId: text,
  walletId: text,
  paymentId: text,
  status: text as Column<'pending' | 'approved' | 'denied' | 'canceled'>,
  /** JSON array of `LimitReason`. */
  reasons: text,
  denialReason: nullable(text),
  version: integer,
  createdAtMs: bigint,
  updatedAtMs: bigint,
  resolvedAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'partyId walletId status id', 'id'],
  $uniqueIndexes: ['paymentId'],
})

export type ApprovalRow = RowOf<typeof approvals>
