import { filled, type RowOf, table, text } from './table.ts'

/** What an attached agent holds on the wallet (`cards.read`, …), a row each. */
export const walletPermissions = table({
  '0001_first_schema': {
    walletId: text,
    agentId: text,
    permission: text,
    $key: ['walletId', 'agentId', 'permission'],
  },
  '0020_lists': {
    $indexes: ['agentId permission walletId'],
  },
  '0024_tenants': {
    /** Whose wallet and agent they are. */
    partyId: filled(text, ''),
    $tenantKey: ['partyId', 'walletId', 'agentId', 'permission'],
  },
})

export type WalletPermissionRow = RowOf<typeof walletPermissions>
