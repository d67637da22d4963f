import { type RowOf, table, text } from './table.ts'

/** What an attached agent holds on the wallet (`cards.read`, …), a row each. */
export const walletPermissions = table({
  walletId: text,
  agentId: text,
  permission: text,
  /** Whose wallet and agent they are. */
  partyId: text,
  $tenant: 'partyId',
  $key: ['walletId', 'agentId', 'permission'],
  $indexes: ['agentId permission walletId'],
})

export type WalletPermissionRow = RowOf<typeof walletPermissions>
