import type { walletAgents } from '../../../tools/wallet-agents.ts'
import { fail } from '../../core/errors.ts'
import { delegable } from '../../core/permissions.ts'
import { timestamp } from '../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { findAgent } from '../store/agents.ts'
import {
  type AttachedAgent,
  attachAgent,
  detachAgent,
  findAttachedAgent,
  listAttachedAgents,
  setAgentDefault,
} from '../store/wallet-agents.ts'
import { agentDefaultWallet } from '../store/wallets.ts'
import { agentView } from './agents.ts'
import { loadWallet } from './wallets.ts'

export const walletAgentHandlers = {
  listWalletAgents: async (input, context) => {
    const wallet = await loadWallet(context, input.walletId)
    const list = { list: 'walletAgents', walletId: wallet.id }
    return page(await listAttachedAgents(context.tx, wallet, pageRequest(input, list)), list, (row) =>
      attachedView(row, context),
    )
  },

  /** Attaches an agent to a wallet. If the agent is already attached to the wallet, changes nothing. */
  attachWalletAgent: async ({ agentId, ...input }, context) => {
    const { tx, actor, partyId, nowMs } = context
    const wallet = await loadWallet(context, input.walletId)
    if (wallet.status === 'closed') fail('conflict', { detail: `The wallet ${wallet.id} is closed.` })
    const agent = await findAgent(tx, partyId, agentId)
    const source = { pointer: '/data/attributes/agentId' }
    if (agent === undefined) fail('not_found', { detail: `There is no agent ${agentId}.`, source })
    if (agent.status === 'REVOKED') fail('conflict', { detail: 'The agent was deleted.', source })
    const before = await findAttachedAgent(tx, wallet, agentId)
    if (before !== undefined) return attachedView(before, context)
    requireCanGrant(actor, grantedScopes.holdings(delegable))
    const isDefault = (await agentDefaultWallet(tx, partyId, agentId)) === undefined ? 1 : 0
    const attachment = { partyId, walletId: wallet.id, agentId, isDefault, attachedAtMs: nowMs } as const
    await attachAgent(tx, attachment, delegable)
    return attachedView({ ...agent, isDefault, attachedAtMs: nowMs }, context)
  },

  setAgentDefaultWallet: async (input, context) => {
    const attached = await loadAttached(context, input)
    await setAgentDefault(context.tx, { partyId: attached.partyId, walletId: input.walletId, agentId: attached.id })
    return attachedView({ ...attached, isDefault: 1 }, context)
  },

  /**
   * Detaches an agent from a wallet. If the wallet was the agent's default, no other wallet becomes the default,
   * because the account's owner decides which wallet an agent pays from.
   */
  detachWalletAgent: async (input, context) => {
    const { id, partyId } = await loadAttached(context, input)
    await detachAgent(context.tx, { partyId, walletId: input.walletId, agentId: id }, context.nowMs)
    return { data: { type: 'agent', id }, meta: { deleted: true } }
  },
} satisfies HandlersOf<typeof walletAgents>

/**
 * Returns an agent attached to one of the party's wallets.
 * @throws 404 if the party has no such wallet, or if the agent is not attached to the wallet.
 */
async function loadAttached(context: Context, ids: { walletId: string; agentId: string }): Promise<AttachedAgent> {
  const wallet = await loadWallet(context, ids.walletId)
  const attached = await findAttachedAgent(context.tx, wallet, ids.agentId)
  if (attached === undefined) {
    fail('not_found', { detail: `No agent ${ids.agentId} is attached to the wallet ${wallet.id}.` })
  }
  return attached
}

function attachedView(row: AttachedAgent, context: Context) {
  const walletAccess = { isDefault: row.isDefault === 1, attachedAt: timestamp(row.attachedAtMs) }
  return { ...agentView(row, context), meta: { walletAccess } }
}
