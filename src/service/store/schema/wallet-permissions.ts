import { type RowOf, table, text } from './table.ts'

/** What an attached agent holds on the wallet (`cards.read`, …), a row each. */
export const walletPermissions = table({
  '0001_first_schema': {
    walletId: text,
    agentId: text,
    permission: text,
    $key: ['walletId', 'agentId', 'permission'],
  },
})

export type WalletPermissionRow = RowOf<typeof walletPermissions>
