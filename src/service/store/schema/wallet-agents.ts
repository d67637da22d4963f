import { bigint, flag, type RowOf, table, text } from './table.ts'

/** The link between a wallet and an agent that may use it. */
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
