import { bigint, type Column, flag, integer, nullable, type RowOf, table, text } from './table.ts'

export const wallets = table({
  id: text,
  partyId: text,
  displayName: nullable(text),
  description: nullable(text),
  status: text as Column<'active' | 'frozen' | 'closed'>,
  walletType: text as Column<'standard' | 'vault'>,
  tags: text,
  currency: text as Column<'USD'>,
  isDefault: flag,
  /**
   * Increases with each change except a change of balances. A change fails if the version has changed since the row was
   * read.
   */
  version: integer,
  /** The money that can be spent now. */
  availableCents: bigint,
  /**
   * The money on hold, for example for card authorizations. The wallet's total is the sum of available and held
   * money.
   */
  heldCents: bigint,
  createdAtMs: bigint,
  /** The money that banks took back from deposits. `availableCents` can be below zero by at most this amount. */
  returnedCents: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId id'],
  $checks: { held_not_negative: '"heldCents" >= 0', below_zero_by_returns: '"availableCents" >= -"returnedCents"' },
  $namedIndexes: { default: '("partyId") where "isDefault" = 1' },
})

export type WalletRow = RowOf<typeof wallets>
