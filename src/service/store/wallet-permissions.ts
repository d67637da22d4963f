import { expressionBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { Tables } from './schema/tables.ts'

/** What a list shows: for an agent, of its own party's records, only those of wallets on which it holds the permission. */
export interface ListScope {
  partyId: string
  agentId: string | null
  mustHold: string | null
}

/** Whether an agent holds a permission on a wallet it is attached to. */
export async function agentHolds(
  tx: Transaction,
  agentId: string,
  walletId: string,
  permission: string,
): Promise<boolean> {
  return (await held(tx, { agentId, walletId, permission })).rows.length > 0
}

const held = prepared((db, by: { agentId: string; walletId: string; permission: string }) =>
  db
    .selectFrom('walletPermissions')
    .select('permission')
    .where('walletId', '=', by.walletId)
    .where('agentId', '=', by.agentId)
    .where('permission', '=', by.permission),
)

/** Narrows a list to what its scope may see. `walletColumn` names the wallet of a row. */
export function heldBy<Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { agentId, mustHold }: ListScope,
  walletColumn = 'walletId',
): SelectQueryBuilder<Tables, Table, Row> {
  if (agentId === null || mustHold === null) return query
  const held = expressionBuilder<Tables>()
    .selectFrom('walletPermissions')
    .select('walletPermissions.walletId')
    .where('walletPermissions.agentId', '=', agentId)
    .where('walletPermissions.permission', '=', mustHold)
  return query.where(sql.ref<string>(walletColumn), 'in', held)
}

/** Gives an agent permissions on a wallet. */
export async function grantOnWallet(
  { db }: Transaction,
  walletId: string,
  agentId: string,
  permissions: readonly string[],
): Promise<void> {
  const rows = permissions.map((permission) => ({ walletId, agentId, permission }))
  if (rows.length > 0) await db.insertInto('walletPermissions').values(rows).execute()
}

/** Takes every permission on a wallet from an agent. */
export async function revokeOnWallet({ db }: Transaction, walletId: string, agentId: string): Promise<void> {
  await db.deleteFrom('walletPermissions').where('walletId', '=', walletId).where('agentId', '=', agentId).execute()
}
