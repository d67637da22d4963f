import type { z } from 'zod'
import type { Agent, AgentLimits, agents } from '../../../tools/agents.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { delegable } from '../../core/permissions.ts'
import { timestamp } from '../../core/system.ts'
import { grantedScopes, hasScope, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { isWider, limitsColumn } from '../rules/limits.ts'
import { mergedTags } from '../rules/tags.ts'
import { createAgent, findAgent, findAgentOfAnyParty, listAgents, updateAgent } from '../store/agents.ts'
import { findParty } from '../store/parties.ts'
import type { AgentRow } from '../store/schema/agents.ts'
import { defaultWallet, findWallet } from '../store/wallets.ts'
import { retireAgent } from './steps/retire-agent.ts'
import { requireFreeHandle } from './steps/take-handle.ts'

type Tags = Record<string, string>
type Limits = z.output<typeof AgentLimits>

export const agentHandlers = {
  listAgents: async (input, context) => {
    const { tx, partyId } = context
    const scope = { partyId, status: input.status }
    const list = { list: 'agents', ...scope }
    return page(await listAgents(tx, scope, pageRequest(input, list)), list, (row) => agentView(row, context))
  },

  createAgent: async (input, context) => {
    const { tx, actor, partyId } = context
    const { walletId, slug = null } = input
    const wallet = await (walletId === undefined ? defaultWallet(tx, partyId) : findWallet(tx, partyId, walletId))
    if (wallet === undefined) {
      const source = { pointer: '/data/attributes/walletId' }
      fail('not_found', {
        detail: walletId === undefined ? 'There is no default wallet.' : `There is no wallet ${walletId}.`,
        source,
      })
    }
    const agent = {
      partyId,
      name: input.name,
      description: input.description ?? null,
      tags: JSON.stringify(input.tags ?? {}),
      slug,
      handle: slug === null ? null : await buildHandle(context, slug, null),
      limits: limitsColumn(input.limits ?? null),
      createdBy: actor.userId,
    }
    // On its first wallet, the new agent gets only those permissions that its creator has. If another wallet is
    // attached later, the agent gets all permissions on that wallet.
    const holdings = delegable.filter((permission) =>
      grantedScopes.holdings([permission]).every((scope) => hasScope(actor, scope)),
    )
    return agentView(await createAgent(context, agent, wallet.id, holdings), context)
  },

  getAgent: async ({ agentId }, context) => agentView(await loadAgent(context, agentId), context),

  updateAgent: async ({ agentId, ...input }, context) => {
    const { tx, actor, nowMs } = context
    const before = await loadAgent(context, agentId)
    if (before.status === 'REVOKED') fail('conflict', { detail: 'The agent was deleted; it cannot be changed.' })
    const { name, description, tags, slug, limits } = input
    if (limits !== undefined && isWider(limits, parsedLimits(before))) {
      requireCanGrant(actor, grantedScopes.higherLimits(), { pointer: '/data/attributes/limits' })
    }
    const renamed = slug !== undefined && slug !== before.slug
    const change = {
      // The published client may send null as the name. An agent must have a name, so null leaves the name unchanged.
      ...(name === undefined || name === null ? {} : { name }),
      ...(description === undefined ? {} : { description }),
      ...(tags === undefined ? {} : { tags: mergedTags(before.tags, tags) }),
      ...(renamed ? { slug, handle: await buildHandle(context, slug, agentId) } : {}),
      // Limits are replaced as a whole, so an omitted limit is removed.
      ...(limits === undefined ? {} : { limits: limitsColumn(limits) }),
    }
    const after: AgentRow = { ...before, ...change, updatedBy: actor.userId, updatedAtMs: nowMs }
    await updateAgent(tx, before, { ...change, updatedBy: actor.userId, updatedAtMs: nowMs })
    return agentView(after, context)
  },

  /** Deletes an agent. An agent that is already deleted is returned unchanged. */
  deleteAgent: async ({ agentId }, context) => {
    const before = await loadAgent(context, agentId)
    const meta = { deleted: true } as const
    if (before.status === 'REVOKED') return { data: agentView(before, context), meta }
    return { data: agentView(await retireAgent(context, before, context.actor.userId), context), meta }
  },
} satisfies HandlersOf<typeof agents>

/** Returns an agent of the party that the request acts on. @throws 404 for any other agent. */
export async function loadAgent({ tx, partyId }: Context, agentId: string): Promise<AgentRow> {
  const agent = await findAgent(tx, partyId, agentId)
  if (agent === undefined) fail('not_found', { detail: `There is no agent ${agentId}.` })
  return agent
}

/**
 * Returns the agent's handle: the party's handle, followed by the slug.
 * @throws 409 if the agent's handle is taken, 422 if the party has no handle.
 */
async function buildHandle(context: Context, slug: string, agentId: string | null): Promise<string> {
  const { tx, partyId } = context
  const party = await findParty(tx, partyId)
  if (party === undefined || party.handle === null) {
    failAttribute(
      'slug',
      "The party has no handle for its agents' handles to begin with. Set one with set_party_handle, or omit slug.",
    )
  }
  const handle = `@${party.handle}-${slug}`
  const refusal = {
    detail: `The handle ${handle} is taken. Choose another slug.`,
    source: { pointer: '/data/attributes/slug' },
  }
  // Without this check, agents of two parties could get the same handle: an agent of party `a` with the slug `b-c`, and
  // an agent of party `a-b` with the slug `c`.
  await requireFreeHandle(context, partyId, handle.slice(1), refusal)
  const taken = await findAgentOfAnyParty(tx, { handle })
  if (taken !== undefined && taken.id !== agentId) fail('conflict', refusal)
  return handle
}

function parsedLimits({ limits }: AgentRow): Limits | null {
  return limits === null ? null : (JSON.parse(limits) as Limits)
}

export function agentView(row: AgentRow, { lastUses }: Context): z.output<typeof Agent> {
  const when = (ms: number | null) => (ms === null ? null : timestamp(ms))
  return {
    type: 'agent',
    id: row.id,
    attributes: {
      name: row.name,
      description: row.description,
      status: row.status,
      tags: JSON.parse(row.tags) as Tags,
      handle: row.handle,
      limits: parsedLimits(row),
      createdAt: timestamp(row.createdAtMs),
      createdBy: row.createdBy,
      updatedAt: timestamp(row.updatedAtMs ?? row.createdAtMs),
      updatedBy: row.updatedBy ?? row.createdBy,
      lastActiveAt: when(lastUses.forAgent(row.id, row.lastActiveAtMs)),
    },
    relationships: { party: { data: { type: 'party', id: row.partyId } } },
  }
}
