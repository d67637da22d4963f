import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

export const agentCards = table({
  '0001_first_schema': {
    id: text,
    /** The party whose wallet pays. */
    partyId: text,
    walletId: text,
    /** The agent the card was issued to. */
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
    $checks: { maximum_not_negative: '"maximumAmountCents" >= 0' },
    $indexes: ['partyId id', 'agentId id'],
  },
  '0013_spending': {
    $namedIndexes: { unused: '("agentId", "expiresAtMs") where "usedAtMs" is null' },
  },
  '0019_frozen_cards': {
    /** Since when it is frozen. */
    frozenAtMs: nullable(bigint),
  },
  '0020_lists': {
    $indexes: ['agentId walletId id'],
    $droppedIndexes: ['agentId id'],
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
  },
})

export type AgentCardRow = RowOf<typeof agentCards>
