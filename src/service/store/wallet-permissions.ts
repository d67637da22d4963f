import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { WalletPermissionRow } from './schema/wallet-permissions.ts'

/** The scope of a list: all records of a party, or only the records of wallets on which an agent has a permission. */
export interface ListScope {
  partyId: string
  agentId: string | null
  /** The permission that the agent needs on a record's wallet; null if the agent may see all records. */
  requiredPermission: string | null
}

/** An agent, and the permission that the agent needs on a wallet. */
export type Holder = Pick<WalletPermissionRow, 'agentId' | 'permission'>

/** Returns whether an agent has a permission on a wallet. */
export async function agentHolds(
  tx: Transaction,
  agentId: string,
  wallet: { id: string; partyId: string },
  permission: string,
): Promise<boolean> {
  const { id: walletId, partyId } = wallet
  return (await permissionOnWallet(tx, { partyId, agentId, walletId, permission })).rows.length > 0
}

const permissionOnWallet = prepared((db, by: WalletPermissionRow) =>
  db
    .selectFrom('walletPermissions')
    .select('permission')
    .where('partyId', '=', by.partyId)
    .where('walletId', '=', by.walletId)
    .where('agentId', '=', by.agentId)
    .where('permission', '=', by.permission),
)

/**
 * Returns the ids of the wallets that a list is restricted to; undefined if the list covers all wallets of the party.
 * The list's query becomes slower with each id.
 */
export async function permittedWallets(
  tx: Transaction,
  { partyId, agentId, requiredPermission }: ListScope,
): Promise<string[] | undefined> {
  if (agentId === null || requiredPermission === null) return undefined
  const { rows } = await walletsOfAgent(tx, { partyId, agentId, permission: requiredPermission })
  return rows.map(({ walletId }) => walletId)
}

const walletsOfAgent = prepared((db, by: { partyId: string; agentId: string; permission: string }) =>
  db
    .selectFrom('walletPermissions')
    .select('walletId')
    .where('partyId', '=', by.partyId)
    .where('agentId', '=', by.agentId)
    .where('permission', '=', by.permission),
)

/** The key of an agent's attachment to a wallet. */
type AttachmentKey = Omit<WalletPermissionRow, 'permission'>

/** Gives an agent permissions on a wallet. */
export async function grantOnWallet(
  { db }: Transaction,
  { partyId, walletId, agentId }: AttachmentKey,
  permissions: readonly string[],
): Promise<void> {
  const rows = permissions.map((permission) => ({ partyId, walletId, agentId, permission }))
  if (rows.length > 0) await db.insertInto('walletPermissions').values(rows).execute()
}

/** Revokes all permissions of an agent on one wallet. */
export async function revokeOnWallet(
  { db }: Transaction,
  { partyId, walletId, agentId }: AttachmentKey,
): Promise<void> {
  const permissions = db.deleteFrom('walletPermissions').where('partyId', '=', partyId).where('walletId', '=', walletId)
  await permissions.where('agentId', '=', agentId).execute()
}

/** Revokes all permissions of an agent on all wallets. */
export async function revokeEverywhere({ db }: Transaction, agent: Pick<AgentRow, 'partyId' | 'id'>): Promise<void> {
  const permissions = db.deleteFrom('walletPermissions').where('partyId', '=', agent.partyId)
  await permissions.where('agentId', '=', agent.id).execute()
}
