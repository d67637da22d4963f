import { expireUnusedCards } from './agent-cards.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { WalletAgentRow } from './schema/wallet-agents.ts'
import type { WalletRow } from './schema/wallets.ts'
import { grantOnWallet, revokeEverywhere, revokeOnWallet } from './wallet-permissions.ts'

/** An agent with how it may use one wallet. */
export type AttachedAgent = AgentRow & Pick<WalletAgentRow, 'isDefault' | 'attachedAtMs'>

/** Lets an agent use a wallet with the permissions. */
export async function attachAgent(
  tx: Transaction,
  attachment: WalletAgentRow,
  permissions: readonly string[],
): Promise<void> {
  await tx.db.insertInto('walletAgents').values(attachment).execute()
  await grantOnWallet(tx, attachment, permissions)
}

/** Ends all that an agent may do with a wallet, and its cards on it. */
export async function detachAgent(tx: Transaction, at: Place, nowMs: number): Promise<void> {
  const { partyId, walletId, agentId } = at
  await expireUnusedCards(tx, { agentId, wallet: { id: walletId, partyId } }, nowMs)
  await revokeOnWallet(tx, at)
  const attachments = tx.db.deleteFrom('walletAgents').where('partyId', '=', partyId)
  await attachments.where('walletId', '=', walletId).where('agentId', '=', agentId).execute()
}

/** Ends what an agent may do with every wallet: whose agent is deleted keeps no list of it. */
export async function detachEverywhere(tx: Transaction, agent: Pick<AgentRow, 'partyId' | 'id'>): Promise<void> {
  await revokeEverywhere(tx, agent)
  const attachments = tx.db.deleteFrom('walletAgents').where('partyId', '=', agent.partyId)
  await attachments.where('agentId', '=', agent.id).execute()
}

/** An agent at a wallet of its party's. */
type Place = Pick<WalletAgentRow, 'partyId' | 'walletId' | 'agentId'>

/** Makes an attached wallet the only default of the agent. */
export async function setAgentDefault(tx: Transaction, { partyId, walletId, agentId }: Place): Promise<void> {
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

/** An agent that is attached to the wallet and was not deleted. */
export async function findAttachedAgent(
  tx: Transaction,
  wallet: OfParty,
  agentId: string,
): Promise<AttachedAgent | undefined> {
  return attachedTo(tx, wallet).where('agents.id', '=', agentId).executeTakeFirst()
}

/** The agents that may use a wallet, newest first. */
export async function listAttachedAgents(
  tx: Transaction,
  wallet: OfParty,
  page: PageRequest,
): Promise<PageOf<AttachedAgent>> {
  return readPage(attachedTo(tx, wallet), page, 'walletAgents.agentId')
}

type OfParty = Pick<WalletRow, 'id' | 'partyId'>

function attachedTo(tx: Transaction, { id: walletId, partyId }: OfParty) {
  return (
    tx.db
      .selectFrom('walletAgents')
      // A cross join is gone through in this order on SQLite, which would sort all agents of the party else.
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
