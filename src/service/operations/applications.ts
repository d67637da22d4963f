import type { z } from 'zod'
import type { Application, applications } from '../../../tools/applications.ts'
import { fail, failAttribute } from '../../core/errors.ts'
import { defaultOAuthScopes } from '../../core/permissions.ts'
import { newId, timestamp } from '../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { removeClient, saveApplicationClient } from '../store/applications.ts'
import { findApplication, insertGrant, listApplications, revokeGrant, updateGrant } from '../store/oauth-grants.ts'
import type { OAuthGrantRow } from '../store/schema/oauth-grants.ts'
import { type PublicKey, publicKeyProblem } from '../tokens/public-keys.ts'
import { newCredential } from '../tokens/secrets.ts'
import { loadAgent } from './agents.ts'
import { requireManager } from './steps/require-manager.ts'

export const applicationHandlers = {
  createApplication: async ({ name, agentId, scopes = [...defaultOAuthScopes], publicKeys }, context) => {
    const { tx, actor, partyId, environment, nowMs, system } = context
    await requireManager(context)
    requireCanGrant(actor, grantedScopes.agentKey())
    await requireUsableKeys(publicKeys)
    // The deletion of an agent takes the same lock. Either the deletion is visible here, or it comes later and also
    // ends the application's access.
    await tx.lockParty(partyId)
    const agent = await loadAgent(context, agentId)
    if (agent.status === 'REVOKED') fail('conflict', { detail: 'No application can act as a deleted agent.' })
    const secret = publicKeys === undefined ? newCredential('client_secret', environment, system) : undefined
    const row: OAuthGrantRow = {
      id: newId('ogr', system, nowMs),
      partyId,
      agentId,
      clientName: name,
      scopes: [...new Set(scopes)].join(' '),
      payload: JSON.stringify({ authentication: secret === undefined ? 'private_key_jwt' : 'client_secret' }),
      createdAtMs: nowMs,
      lastUsedAtMs: null,
      revokedAtMs: null,
      expiresAtMs: null,
      ...clientAndSubject(newId('oap', system, nowMs)),
    }
    await insertGrant(tx, row)
    await saveApplicationClient(
      tx,
      row,
      secret === undefined ? { publicKeys } : { secretHash: secret.stored.secretHash },
    )
    const { attributes, ...view } = applicationView(row, context)
    return { ...view, attributes: { ...attributes, clientSecret: secret?.credential ?? null } }
  },

  listApplications: async (input, context) => {
    const { tx, partyId } = context
    const list = { list: 'applications', partyId }
    const found = await listApplications(tx, partyId, pageRequest(input, list))
    return page(found, list, (row) => applicationView(row, context))
  },

  /**
   * Reduces an application's scopes, and replaces its public keys. Tokens that were already issued lose the removed
   * scopes too.
   */
  updateApplication: async ({ applicationId, scopes, publicKeys }, context) => {
    const { tx, actor } = context
    // The holder of a new key can act as the agent, so the caller needs every permission that an agent's key gives.
    if (publicKeys !== undefined) requireCanGrant(actor, grantedScopes.agentKey())
    await requireUsableKeys(publicKeys)
    const before = await loadApplication(context, applicationId)
    if (before.revokedAtMs !== null) fail('conflict', { detail: 'The application was revoked.' })
    const present = before.scopes.split(' ')
    const added = scopes?.filter((scope) => !present.includes(scope)) ?? []
    if (added.length > 0) {
      fail('conflict', {
        detail: `The application lacks ${added.join(', ')}, and the scopes of an application can only be reduced. Register a new application.`,
      })
    }
    const remaining =
      scopes === undefined ? before.scopes : present.filter((scope) => scopes.includes(scope as never)).join(' ')
    if (publicKeys !== undefined) {
      if (authenticationOf(before) !== 'private_key_jwt') {
        fail('conflict', {
          detail: 'Register a new application with publicKeys, and revoke this one, which has a secret.',
        })
      }
      await saveApplicationClient(tx, before, { publicKeys })
    }
    if (remaining !== before.scopes) await updateGrant(tx, before.id, { scopes: remaining })
    return applicationView({ ...before, scopes: remaining }, context)
  },

  /** Revokes an application. An application that is already revoked is returned unchanged. */
  revokeApplication: async ({ applicationId }, context) => {
    const { tx, nowMs } = context
    const before = await loadApplication(context, applicationId)
    const meta = { deleted: true } as const
    if (before.revokedAtMs !== null) return { data: applicationView(before, context), meta }
    const data = applicationView({ ...before, revokedAtMs: nowMs }, context)
    await removeClient(tx, before.id)
    await revokeGrant(tx, before.id, nowMs)
    return { data, meta }
  },
} satisfies HandlersOf<typeof applications>

/** Refuses keys that cannot verify an assertion, because an application with such keys could never sign in. */
async function requireUsableKeys(publicKeys: readonly PublicKey[] = []): Promise<void> {
  for (const [index, key] of publicKeys.entries()) {
    const problem = await publicKeyProblem(key)
    if (problem !== undefined) failAttribute(`publicKeys/${index}`, `publicKeys/${index} ${problem}`)
  }
}

/**
 * Returns an application's client id and the subject of its tokens. Both are the same id, because the tokens have no
 * user (RFC 9068 section 2.2).
 */
const clientAndSubject = (clientId: string) => ({ clientId, userId: clientId })

async function loadApplication({ tx, partyId }: Context, id: string): Promise<OAuthGrantRow> {
  const row = await findApplication(tx, { partyId, id })
  if (row === undefined) fail('not_found', { detail: `There is no application ${id}.` })
  return row
}

type View = z.output<typeof Application>

function authenticationOf({ payload }: OAuthGrantRow): View['attributes']['authentication'] {
  return (JSON.parse(payload) as { authentication: View['attributes']['authentication'] }).authentication
}

function applicationView(row: OAuthGrantRow, { lastUses }: Context): View {
  const when = (ms: number | null) => (ms === null ? null : timestamp(ms))
  return {
    type: 'application',
    id: row.id,
    attributes: {
      clientId: row.clientId,
      name: row.clientName,
      authentication: authenticationOf(row),
      scopes: row.scopes.split(' ').filter(Boolean),
      status: row.revokedAtMs === null ? 'ACTIVE' : 'REVOKED',
      createdAt: timestamp(row.createdAtMs),
      lastUsedAt: when(lastUses.forKey(row.id, row.lastUsedAtMs)),
      revokedAt: when(row.revokedAtMs),
    },
    relationships: {
      party: { data: { type: 'party', id: row.partyId } },
      agent: { data: { type: 'agent', id: row.agentId ?? '' } },
    },
  }
}
