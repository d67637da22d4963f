import { type RowOf, table, text } from './table.ts'

/** One permission, such as `cards.read`, that an agent has on a wallet. */
export const walletPermissions = table({
  walletId: text,
  agentId: text,
  permission: text,
  /** The party that owns the wallet and the agent. */
  partyId: text,
  $tenant: 'partyId',
  $key: ['walletId', 'agentId', 'permission'],
  $indexes: ['agentId permission walletId'],
})

export type WalletPermissionRow = RowOf<typeof walletPermissions>
