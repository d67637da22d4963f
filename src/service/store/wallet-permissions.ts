import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { WalletPermissionRow } from './schema/wallet-permissions.ts'

/** The scope of a list: a party's records; for an agent, only those on wallets for which it has the permission. */
export interface ListScope {
  partyId: string
  agentId: string | null
  requiredPermission: string | null
}

/** An agent, and a permission that it needs. */
export type Holder = Pick<WalletPermissionRow, 'agentId' | 'permission'>

/** Returns whether an agent has a permission on a wallet it is attached to. */
export async function agentHolds(
  tx: Transaction,
  agentId: string,
  wallet: { id: string; partyId: string },
  permission: string,
): Promise<boolean> {
  const { id: walletId, partyId } = wallet
  return (await held(tx, { partyId, agentId, walletId, permission })).rows.length > 0
}

const held = prepared((db, by: WalletPermissionRow) =>
  db
    .selectFrom('walletPermissions')
    .select('permission')
    .where('partyId', '=', by.partyId)
    .where('walletId', '=', by.walletId)
    .where('agentId', '=', by.agentId)
    .where('permission', '=', by.permission),
)

/**
 * Returns the wallets that a list is restricted to; undefined if it includes all wallets of the party. The cost of a
 * list grows with the number of these wallets.
 */
export async function permittedWallets(
  tx: Transaction,
  { partyId, agentId, requiredPermission }: ListScope,
): Promise<string[] | undefined> {
  if (agentId === null || requiredPermission === null) return undefined
  const { rows } = await heldByAgent(tx, { partyId, agentId, permission: requiredPermission })
  return rows.map(({ walletId }) => walletId)
}

const heldByAgent = prepared((db, by: { partyId: string; agentId: string; permission: string }) =>
  db
    .selectFrom('walletPermissions')
    .select('walletId')
    .where('partyId', '=', by.partyId)
    .where('agentId', '=', by.agentId)
    .where('permission', '=', by.permission),
)

/** An agent and a wallet of the party. */
type Place = Omit<WalletPermissionRow, 'permission'>

/** Gives an agent permissions on a wallet. */
export async function grantOnWallet(
  { db }: Transaction,
  { partyId, walletId, agentId }: Place,
  permissions: readonly string[],
): Promise<void> {
  const rows = permissions.map((permission) => ({ partyId, walletId, agentId, permission }))
  if (rows.length > 0) await db.insertInto('walletPermissions').values(rows).execute()
}

/** Takes every permission on a wallet from an agent. */
export async function revokeOnWallet({ db }: Transaction, { partyId, walletId, agentId }: Place): Promise<void> {
  const permissions = db.deleteFrom('walletPermissions').where('partyId', '=', partyId).where('walletId', '=', walletId)
  await permissions.where('agentId', '=', agentId).execute()
}

/** Takes every permission on every wallet from an agent. */
export async function revokeEverywhere({ db }: Transaction, agent: Pick<AgentRow, 'partyId' | 'id'>): Promise<void> {
  const held = db.deleteFrom('walletPermissions').where('partyId', '=', agent.partyId)
  await held.where('agentId', '=', agent.id).execute()
}
