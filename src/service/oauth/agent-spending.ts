import type { Limits } from '../rules/limits.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findParty } from '../store/parties.ts'
import type { AgentRow } from '../store/schema/agents.ts'
import { agentDefaultWallet, defaultWallet } from '../store/wallets.ts'

/** An agent's spending limits and available balance, as shown on the consent and connections pages. */
export interface AgentSpending {
  /** The agent's own limits. */
  limits: Limits
  /** The limits on the spending of the agent's whole party. */
  accountLimits: Limits
  /** The available balance in cents of the wallet that the agent pays from; null if the agent has no wallet. */
  availableCents: number | null
}

export async function spendingOf(tx: Transaction, agent: AgentRow): Promise<AgentSpending> {
  const wallet = await agentDefaultWallet(tx, agent.partyId, agent.id)
  return spending(tx, agent.partyId, agent.limits, wallet?.availableCents)
}

/** Returns the spending limits and available balance that a new agent of the party would have. */
export async function newAgentSpending(tx: Transaction, partyId: string): Promise<AgentSpending> {
  const wallet = await defaultWallet(tx, partyId)
  return spending(tx, partyId, null, wallet?.availableCents)
}

async function spending(tx: Transaction, partyId: string, limits: string | null, availableCents?: number) {
  const party = await findParty(tx, partyId)
  const read = (text: string | null | undefined) => (text == null ? {} : (JSON.parse(text) as Limits))
  return { limits: read(limits), accountLimits: read(party?.limits), availableCents: availableCents ?? null }
}
