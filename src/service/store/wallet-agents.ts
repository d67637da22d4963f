import { expireUnusedCards } from './agent-cards.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { WalletAgentRow } from './schema/wallet-agents.ts'
import { grantOnWallet, revokeOnWallet } from './wallet-permissions.ts'

/** An agent with how it may use one wallet. */
export type AttachedAgent = AgentRow & Pick<WalletAgentRow, 'isDefault' | 'attachedAtMs'>

/** Lets an agent use a wallet with the permissions. */
export async function attachAgent(
  tx: Transaction,
  attachment: WalletAgentRow,
  permissions: readonly string[],
): Promise<void> {
  const { walletId, agentId } = attachment
  await tx.db.insertInto('walletAgents').values(attachment).execute()
  await grantOnWallet(tx, walletId, agentId, permissions)
}

/** Ends all that an agent may do with a wallet, and its cards on it. */
export async function detachAgent(tx: Transaction, walletId: string, agentId: string, nowMs: number): Promise<void> {
  await expireUnusedCards(tx, { agentId, walletId }, nowMs)
  await revokeOnWallet(tx, walletId, agentId)
  await tx.db.deleteFrom('walletAgents').where('walletId', '=', walletId).where('agentId', '=', agentId).execute()
}

/** Makes an attached wallet the only default of the agent. */
export async function setAgentDefault(tx: Transaction, walletId: string, agentId: string): Promise<void> {
  const update = (isDefault: 0 | 1, comparison: '=' | '!=') =>
    tx.db
      .updateTable('walletAgents')
      .set({ isDefault })
      .where('agentId', '=', agentId)
      .where('walletId', comparison, walletId)
      .execute()
  await update(0, '!=')
  await update(1, '=')
}

/** An agent that is attached to the wallet and was not deleted. */
export async function findAttachedAgent(
  tx: Transaction,
  walletId: string,
  agentId: string,
): Promise<AttachedAgent | undefined> {
  return attachedTo(tx, walletId).where('agents.id', '=', agentId).executeTakeFirst()
}

/** The agents that may use a wallet, newest first. */
export async function listAttachedAgents(
  tx: Transaction,
  walletId: string,
  page: PageRequest,
): Promise<PageOf<AttachedAgent>> {
  const query = attachedTo(tx, walletId)
  return readPage(query, page, 'agents.id')
}

function attachedTo(tx: Transaction, walletId: string) {
  return tx.db
    .selectFrom('walletAgents')
    .innerJoin('agents', 'agents.id', 'walletAgents.agentId')
    .selectAll('agents')
    .select(['walletAgents.isDefault', 'walletAgents.attachedAtMs'])
    .where('walletAgents.walletId', '=', walletId)
    .where('agents.status', '=', 'ACTIVE')
}
