import { bigint, flag, type RowOf, table, text } from './table.ts'

/** An agent of the owner's that may use the wallet. */
export const walletAgents = table({
  '0001_first_schema': {
    walletId: text,
    agentId: text,
    isDefault: flag,
    attachedAtMs: bigint,
    $key: ['walletId', 'agentId'],
    $indexes: ['agentId walletId'],
  },
})

export type WalletAgentRow = RowOf<typeof walletAgents>
