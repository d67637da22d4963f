import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const agentCards = table({
  id: text,
  /** The party whose wallet pays. */
  partyId: text,
  walletId: text,
  /** The agent that the card was issued to. */
  agentId: text,
  instanceId: nullable(text),
  merchantName: text,
  currency: text as Column<'USD'>,
  version: integer,
  maximumAmountCents: bigint,
  expiresAtMs: bigint,
  usedAtMs: nullable(bigint),
  createdAtMs: bigint,
  updatedAtMs: bigint,
  /** The time at which the card was frozen; null if it is not frozen. */
  frozenAtMs: nullable(bigint),
  $tenant: 'partyId',
  $checks: { maximum_not_negative: '"maximumAmountCents" >= 0' },
  $indexes: ['partyId id', 'agentId walletId id'],
  $namedIndexes: { unused: '("agentId", "expiresAtMs") where "usedAtMs" is null' },
})

export type AgentCardRow = RowOf<typeof agentCards>
