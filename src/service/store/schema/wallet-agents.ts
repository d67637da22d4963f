import { bigint, filled, flag, type RowOf, table, text } from './table.ts'

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
  '0024_tenants': {
    /** Whose wallet and agent they are. */
    partyId: filled(text, ''),
    $tenantKey: ['partyId', 'walletId', 'agentId'],
  },
})

export type WalletAgentRow = RowOf<typeof walletAgents>
