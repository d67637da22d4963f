import { expireUnusedCards } from '../../store/agent-cards.ts'
import { updateAgent } from '../../store/agents.ts'
import { revokeKeysOfAgent } from '../../store/credentials.ts'
import { cancelInvitationsOfAgent } from '../../store/customer-invitations.ts'
import { revokeDelegations } from '../../store/delegations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { revokeApplicationsOfAgent } from '../../store/oauth-grants.ts'
import { deleteRecordsOfAgent } from '../../store/oauth-records.ts'
import type { AgentRow } from '../../store/schema/agents.ts'
import { detachEverywhere } from '../../store/wallet-agents.ts'

/**
 * Retires an agent permanently, and revokes all its access. After that, a different agent of the party can take the
 * retired agent's handle.
 */
export async function retireAgent(
  { tx, nowMs }: { tx: Transaction; nowMs: number },
  agent: AgentRow,
  userId: string | null,
): Promise<AgentRow> {
  const { partyId, id: agentId } = agent
  const change = { status: 'REVOKED', slug: null, handle: null, updatedBy: userId, updatedAtMs: nowMs } as const
  await updateAgent(tx, agent, change)
  await revokeKeysOfAgent(tx, agent, { revokedAtMs: nowMs, revokedBy: userId })
  await revokeApplicationsOfAgent(tx, { partyId, agentId, nowMs })
  await deleteRecordsOfAgent(tx, { partyId, agentId })
  await expireUnusedCards(tx, { agentId }, nowMs)
  await revokeDelegations(tx, { agentPartyId: partyId, agentId }, nowMs)
  await cancelInvitationsOfAgent(tx, agent, nowMs)
  await detachEverywhere(tx, agent)
  return { ...agent, ...change }
}
