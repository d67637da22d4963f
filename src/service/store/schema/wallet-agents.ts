import { bigint, flag, type RowOf, table, text } from './table.ts'

/** An agent that may use the wallet. */
export const walletAgents = table({
  walletId: text,
  agentId: text,
  isDefault: flag,
  attachedAtMs: bigint,
  /** The party that owns the wallet and the agent. */
  partyId: text,
  $tenant: 'partyId',
  $key: ['walletId', 'agentId'],
  $indexes: ['agentId walletId'],
})

export type WalletAgentRow = RowOf<typeof walletAgents>
