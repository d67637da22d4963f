import type { z } from 'zod'
import type { AgentKey, agentKeys } from '../../../tools/agent-keys.ts'
import { fail } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { createCredential, endKey, findKey, listKeys } from '../store/credentials.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'
import { newCredential } from '../tokens/secrets.ts'
import { loadAgent } from './agents.ts'

export const agentKeyHandlers = {
  createAgentKey: async ({ agentId, tags = {} }, context) => {
    // The deletion of an agent takes the same lock, so a concurrent deletion cannot miss the new key.
    await context.tx.lockParty(context.partyId)
    const agent = await loadAgent(context, agentId)
    if (agent.status === 'REVOKED') fail('conflict', { detail: 'The agent was deleted; it cannot have keys.' })
    const { row, credential } = await insertKey(context, agentId, JSON.stringify(tags))
    const { attributes, ...view } = agentKeyView(row, context)
    return { ...view, attributes: { ...attributes, agentKey: credential } }
  },

  listAgentKeys: async (input, context) => {
    const { tx, partyId } = context
    const scope = { partyId, agentId: input.agentId }
    const list = { list: 'agentKeys', ...scope }
    const rows = await listKeys(tx, { ...scope, kind: 'agent_key' }, pageRequest(input, list))
    return page(rows, list, (row) => agentKeyView(row, context))
  },

  /** Replaces a key. The old key keeps working for `expiresInSeconds` (docs/service.md#agent-key-rotation). */
  rotateAgentKey: async ({ keyId, expiresInSeconds, tags }, context) => {
    const { tx, actor, nowMs } = context
    const before = await loadKey(context, keyId)
    if (endedAtMs(before, nowMs) !== null) fail('conflict', { detail: 'The key was revoked or has expired.' })
    if (before.expiresAtMs !== null) {
      fail('conflict', { detail: 'The key was already rotated. Rotate the key that replaced it.' })
    }
    const expiresAtMs = nowMs + expiresInSeconds * 1000
    const atOnce = expiresInSeconds === 0
    const revocation = atOnce ? { revokedAtMs: nowMs, revokedBy: actor.userId } : { revokedAtMs: null, revokedBy: null }
    await endKey(tx, before, { ...revocation, expiresAtMs })
    const { row, credential } = await insertKey(
      context,
      before.agentId ?? '',
      tags === undefined ? before.tags : JSON.stringify(tags),
    )
    const { attributes, ...view } = agentKeyView(row, context)
    const previousKeyExpiresAt = atOnce ? null : timestamp(expiresAtMs)
    return { ...view, attributes: { ...attributes, agentKey: credential, previousKeyExpiresAt } }
  },

  /** Revokes a key. A key that was revoked or has expired is returned unchanged. */
  revokeAgentKey: async ({ keyId }, context) => {
    const { tx, actor, nowMs } = context
    const before = await loadKey(context, keyId)
    const meta = { deleted: true } as const
    if (endedAtMs(before, nowMs) !== null) return { data: agentKeyView(before, context), meta }
    const ending = { revokedAtMs: nowMs, revokedBy: actor.userId, expiresAtMs: before.expiresAtMs }
    await endKey(tx, before, ending)
    return { data: agentKeyView({ ...before, ...ending }, context), meta }
  },
} satisfies HandlersOf<typeof agentKeys>

async function loadKey({ tx, partyId }: Context, keyId: string): Promise<CredentialRow> {
  const key = await findKey(tx, partyId, 'agent_key', keyId)
  if (key === undefined) fail('not_found', { detail: `There is no agent key ${keyId}.` })
  return key
}

/** Creates a key for the agent. @throws 403 `forbidden` if the caller lacks a permission that agent keys have. */
async function insertKey({ tx, actor, partyId, environment, nowMs, system }: Context, agentId: string, tags: string) {
  requireCanGrant(actor, grantedScopes.agentKey())
  const { credential, stored } = newCredential('agent_key', environment, system)
  const row = await createCredential(tx, {
    ...stored,
    id: newId('agk', system, nowMs),
    kind: 'agent_key',
    partyId,
    agentId,
    name: null,
    scopes: null,
    tags,
    seeded: 0,
    createdBy: actor.userId,
    revokedAtMs: null,
    expiresAtMs: null,
    createdAtMs: nowMs,
  })
  return { row, credential }
}

/** Returns the time when the key was revoked or expired; null if the key still works. */
function endedAtMs({ revokedAtMs, expiresAtMs }: CredentialRow, nowMs: number): number | null {
  return revokedAtMs ?? (expiresAtMs !== null && expiresAtMs <= nowMs ? expiresAtMs : null)
}

function agentKeyView(row: CredentialRow, { nowMs, lastUses }: Context): z.output<typeof AgentKey> {
  if (row.agentId === null) throw new Error(`Bug: the agent key ${row.id} has no agent.`)
  const when = (ms: number | null) => (ms === null ? null : timestamp(ms))
  const ended = endedAtMs(row, nowMs)
  return {
    type: 'agentKey',
    id: row.id,
    attributes: {
      agentKeyPrefix: row.displayPrefix,
      status: ended === null ? 'ACTIVE' : 'REVOKED',
      createdAt: timestamp(row.createdAtMs),
      lastUsedAt: when(lastUses.forKey(row.id, row.lastUsedAtMs)),
      revokedAt: when(ended),
      createdBy: row.createdBy,
      revokedBy: row.revokedBy,
      expiresAt: when(row.expiresAtMs),
      tags: JSON.parse(row.tags) as Record<string, string>,
    },
    relationships: {
      party: { data: { type: 'party', id: row.partyId } },
      agent: { data: { type: 'agent', id: row.agentId } },
    },
  }
}
