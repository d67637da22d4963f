import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { Agent } from './agents.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, Timestamp } from './schemas.ts'

/** An agent, and its access to the wallet in the request. */
const WalletAgent = Agent.extend({
  meta: z.object({ walletAccess: z.object({ isDefault: z.boolean(), attachedAt: Timestamp }) }),
})

const walletAndAgent = z.strictObject({ walletId: ArgumentId('wal'), agentId: ArgumentId('agt') })

const shared = {
  output: WalletAgent,
  toolsets: ['payments'],
  extension: false,
} as const

const command = { ...shared, ...writeOperation, permission: 'wallet_agents.manage' } as const

export const walletAgents = {
  listWalletAgents: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_wallet_agents',
    title: 'List the agents of a wallet',
    description: 'Lists the agents that may use one wallet, and marks its default agents. All agents: list_agents.',
    path: '/wallets/{walletId}/agents',
    params: z.strictObject({ walletId: ArgumentId('wal') }),
    query: listQuery({}),
    permission: 'wallet_agents.read',
    errors: ['not_found'],
  }),

  attachWalletAgent: defineOperation({
    ...command,
    name: 'attach_wallet_agent',
    title: 'Attach an agent to a wallet',
    description:
      "Lets an agent spend from a wallet. An agent's first wallet becomes its default; to change it: set_agent_default_wallet.",
    path: '/wallets/{walletId}/agents',
    params: z.strictObject({ walletId: ArgumentId('wal') }),
    attributes: z.strictObject({ agentId: ArgumentId('agt') }),
    setsState: true,
    errors: ['not_found', 'conflict'],
  }),

  setAgentDefaultWallet: defineOperation({
    ...command,
    name: 'set_agent_default_wallet',
    title: "Set an agent's default wallet",
    description: "Sets which of an agent's attached wallets it pays from by default.",
    path: '/wallets/{walletId}/agents/{agentId}/default',
    params: walletAndAgent,
    setsState: true,
    errors: ['not_found'],
  }),

  detachWalletAgent: defineOperation({
    ...command,
    ...deleteOperation,
    name: 'detach_wallet_agent',
    title: 'Detach an agent from a wallet',
    description:
      "Ends an agent's access to a wallet: the agent cannot spend from it, and the agent's cards on it expire.",
    path: '/wallets/{walletId}/agents/{agentId}',
    params: walletAndAgent,
    output: z.object({ type: z.literal('agent'), id: Id('agt') }),
    meta: z.object({ deleted: z.literal(true) }),
    errors: ['not_found'],
  }),
} as const
