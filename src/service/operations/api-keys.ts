import type { z } from 'zod'
import type { ApiKey, apiKeys } from '../../../tools/api-keys.ts'
import { fail } from '../../core/errors.ts'
import { environmentSegments } from '../../core/operation.ts'
import { scopes } from '../../core/permissions.ts'
import { newId, timestamp } from '../../core/system.ts'
import { grantedScopes, hasScope, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { createCredential, endKey, findKey, listKeys } from '../store/credentials.ts'
import type { CredentialRow } from '../store/schema/credentials.ts'
import { newCredential } from '../tokens/secrets.ts'

export const apiKeyHandlers = {
  createApiKey: async ({ name, scopes: requestedScopes, tags = {} }, context) => {
    const { tx, actor, partyId, environment, nowMs, system } = context
    const keyScopes = grantedScopes.scopesOf(requestedScopes ?? scopes.filter((scope) => hasScope(actor, scope)))
    requireCanGrant(actor, keyScopes, { pointer: '/data/attributes/scopes' })
    const { credential, stored } = newCredential('api_key', environment, system)
    const row = await createCredential(tx, {
      ...stored,
      id: newId('apy', system, nowMs),
      kind: 'api_key',
      partyId,
      agentId: null,
      name,
      scopes: JSON.stringify(scopes.filter((scope) => keyScopes.includes(scope))),
      tags: JSON.stringify(tags),
      seeded: 0,
      createdBy: actor.userId,
      revokedAtMs: null,
      expiresAtMs: null,
      createdAtMs: nowMs,
    })
    const { attributes, ...view } = apiKeyView(row, context)
    return { ...view, attributes: { ...attributes, apiKey: credential } }
  },

  listApiKeys: async (input, context) => {
    const { tx, partyId } = context
    const list = { list: 'apiKeys', partyId, status: input.status }
    const revoked = input.status === undefined ? undefined : input.status === 'REVOKED'
    const rows = await listKeys(tx, { partyId, kind: 'api_key', revoked }, pageRequest(input, list))
    return page(rows, list, (row) => apiKeyView(row, context))
  },

  getApiKey: async ({ keyId }, context) => apiKeyView(await loadKey(context, keyId), context),

  /** Revokes a key. A key that is already revoked is returned unchanged. */
  revokeApiKey: async ({ keyId }, context) => {
    const { tx, actor, nowMs } = context
    const before = await loadKey(context, keyId)
    const meta = { deleted: true } as const
    if (before.revokedAtMs !== null) return { data: apiKeyView(before, context), meta }
    const ending = { revokedAtMs: nowMs, revokedBy: actor.userId, expiresAtMs: before.expiresAtMs }
    await endKey(tx, before, ending)
    return { data: apiKeyView({ ...before, ...ending }, context), meta }
  },
} satisfies HandlersOf<typeof apiKeys>

async function loadKey({ tx, partyId }: Context, keyId: string): Promise<CredentialRow> {
  const key = await findKey(tx, partyId, 'api_key', keyId)
  if (key === undefined) fail('not_found', { detail: `There is no API key ${keyId}.` })
  return key
}

function apiKeyView(row: CredentialRow, { environment, lastUses }: Context): z.output<typeof ApiKey> {
  const when = (ms: number | null) => (ms === null ? null : timestamp(ms))
  return {
    type: 'apiKey',
    id: row.id,
    attributes: {
      apiKeyPrefix: row.displayPrefix,
      name: row.name ?? '',
      scopes: JSON.parse(row.scopes ?? '[]') as string[],
      environment: environmentSegments[environment],
      status: row.revokedAtMs === null ? 'ACTIVE' : 'REVOKED',
      createdAt: timestamp(row.createdAtMs),
      lastUsedAt: when(lastUses.forKey(row.id, row.lastUsedAtMs)),
      revokedAt: when(row.revokedAtMs),
      createdBy: row.createdBy,
      revokedBy: row.revokedBy,
      tags: JSON.parse(row.tags) as Record<string, string>,
    },
    relationships: { party: { data: { type: 'party', id: row.partyId } } },
  }
}
