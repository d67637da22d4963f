import { bigint, type Column, filled, flag, integer, nullable, type RowOf, table, text } from './table.ts'

export const wallets = table({
  '0001_first_schema': {
    id: text,
    partyId: text,
    displayName: nullable(text),
    description: nullable(text),
    status: text as Column<'active' | 'frozen' | 'closed'>,
    walletType: text as Column<'standard' | 'vault'>,
    tags: text,
    currency: text as Column<'USD'>,
    isDefault: flag,
    /** Rises with each change; a change is a compare-and-set on it. */
    version: integer,
    /** What can be spent now. */
    availableCents: bigint,
    /** What authorizations hold. The wallet owns the sum of both. */
    heldCents: bigint,
    createdAtMs: bigint,
    $checks: { available_not_negative: '"availableCents" >= 0', held_not_negative: '"heldCents" >= 0' },
    $indexes: ['partyId id'],
  },
  '0020_lists': {
    $namedIndexes: { default: '("partyId") where "isDefault" = 1' },
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
  },
  '0035_whole_api': {
    /** What banks took back of money that had come from them: by so much, at most, the wallet may be below zero. */
    returnedCents: filled(bigint, '0'),
    $droppedChecks: { available_not_negative: '"availableCents" >= 0' },
    $checks: { below_zero_by_returns: '"availableCents" >= -"returnedCents"' },
  },
})

export type WalletRow = RowOf<typeof wallets>
