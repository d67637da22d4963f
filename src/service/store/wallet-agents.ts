import { expireUnusedCards } from './agent-cards.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { WalletAgentRow } from './schema/wallet-agents.ts'
import type { WalletRow } from './schema/wallets.ts'
import { grantOnWallet, revokeEverywhere, revokeOnWallet } from './wallet-permissions.ts'

/** An agent, with the columns of its attachment to one wallet. */
export type AttachedAgent = AgentRow & Pick<WalletAgentRow, 'isDefault' | 'attachedAtMs'>

/** Attaches an agent to a wallet, and gives the agent permissions on this wallet. */
export async function attachAgent(
  tx: Transaction,
  attachment: WalletAgentRow,
  permissions: readonly string[],
): Promise<void> {
  await tx.db.insertInto('walletAgents').values(attachment).execute()
  await grantOnWallet(tx, attachment, permissions)
}

/** Removes an agent's access to a wallet, and expires the agent's unused cards that pay from the wallet. */
export async function detachAgent(tx: Transaction, attachment: AttachmentKey, nowMs: number): Promise<void> {
  const { partyId, walletId, agentId } = attachment
  await expireUnusedCards(tx, { agentId, wallet: { id: walletId, partyId } }, nowMs)
  await revokeOnWallet(tx, attachment)
  const attachments = tx.db.deleteFrom('walletAgents').where('partyId', '=', partyId)
  await attachments.where('walletId', '=', walletId).where('agentId', '=', agentId).execute()
}

/** Removes an agent's access to all wallets. For use when the agent is deleted. */
export async function detachEverywhere(tx: Transaction, agent: Pick<AgentRow, 'partyId' | 'id'>): Promise<void> {
  await revokeEverywhere(tx, agent)
  const attachments = tx.db.deleteFrom('walletAgents').where('partyId', '=', agent.partyId)
  await attachments.where('agentId', '=', agent.id).execute()
}

/** The key of an agent's attachment to a wallet of its party. */
type AttachmentKey = Pick<WalletAgentRow, 'partyId' | 'walletId' | 'agentId'>

/** Makes a wallet the agent's only default wallet. The agent must be attached to the wallet. */
export async function setAgentDefault(tx: Transaction, { partyId, walletId, agentId }: AttachmentKey): Promise<void> {
  const update = (isDefault: 0 | 1, comparison: '=' | '!=') =>
    tx.db
      .updateTable('walletAgents')
      .set({ isDefault })
      .where('partyId', '=', partyId)
      .where('agentId', '=', agentId)
      .where('walletId', comparison, walletId)
      .execute()
  await update(0, '!=')
  await update(1, '=')
}

/** Finds an agent that is attached to the wallet and has not been deleted. */
export async function findAttachedAgent(
  tx: Transaction,
  wallet: WalletKey,
  agentId: string,
): Promise<AttachedAgent | undefined> {
  return attachedTo(tx, wallet).where('agents.id', '=', agentId).executeTakeFirst()
}

/** Returns the agents that are attached to a wallet and have not been deleted, newest first. */
export async function listAttachedAgents(
  tx: Transaction,
  wallet: WalletKey,
  page: PageRequest,
): Promise<PageOf<AttachedAgent>> {
  return readPage(attachedTo(tx, wallet), page, 'walletAgents.agentId')
}

type WalletKey = Pick<WalletRow, 'id' | 'partyId'>

function attachedTo(tx: Transaction, { id: walletId, partyId }: WalletKey) {
  return (
    tx.db
      .selectFrom('walletAgents')
      // The cross join makes SQLite begin with `walletAgents`. Otherwise SQLite would sort all agents of the party.
      .crossJoin('agents')
      .whereRef('agents.id', '=', 'walletAgents.agentId')
      .whereRef('agents.partyId', '=', 'walletAgents.partyId')
      .selectAll('agents')
      .select(['walletAgents.isDefault', 'walletAgents.attachedAtMs'])
      .where('walletAgents.partyId', '=', partyId)
      .where('walletAgents.walletId', '=', walletId)
      .where('agents.status', '=', 'ACTIVE')
  )
}
