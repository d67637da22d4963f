import { bigint, flag, type RowOf, table, text } from './table.ts'

/** An agent of the owner's that may use the wallet. */
export const walletAgents = table({
  walletId: text,
  agentId: text,
  isDefault: flag,
  attachedAtMs: bigint,
  /** Whose wallet and agent they are. */
  partyId: text,
  $tenant: 'partyId',
  $key: ['walletId', 'agentId'],
  $indexes: ['agentId walletId'],
})

export type WalletAgentRow = RowOf<typeof walletAgents>
