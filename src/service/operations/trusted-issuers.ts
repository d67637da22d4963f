import type { z } from 'zod'
import { maxIssuers, type TrustedIssuer, type trustedIssuers } from '../../../tools/trusted-issuers.ts'
import { fail, failAttribute, show } from '../../core/errors.ts'
import { defaultOAuthScopes } from '../../core/permissions.ts'
import { newId, timestamp } from '../../core/system.ts'
import { grantedScopes, requireCanGrant } from '../request/grantable-scopes.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { addressProblem, allowsLocalAddresses } from '../request/webhook-addresses.ts'
import { type ClaimRule, claimRules } from '../rules/trusted-issuers.ts'
import { saveApplicationClient } from '../store/applications.ts'
import type { TrustedIssuerRow } from '../store/schema/trusted-issuers.ts'
import {
  changeIssuer,
  findIssuer,
  insertIssuer,
  listIssuers,
  liveIssuers,
  revokeIssuer,
} from '../store/trusted-issuers.ts'
import { jwtBearerGrant } from '../tokens/resources.ts'
import { newCredential } from '../tokens/secrets.ts'
import { loadAgent } from './agents.ts'
import { requireManager } from './steps/require-manager.ts'

export const trustedIssuerHandlers = {
  createTrustedIssuer: async (input, context) => {
    const { tx, actor, partyId, environment, nowMs, system } = context
    const { name, issuer, jwksUri, agents, scopes = [...defaultOAuthScopes] } = input
    await requireManager(context)
    requireCanGrant(actor, grantedScopes.agentKey())
    requireAddress('issuer', issuer, context)
    requireAddress('jwksUri', jwksUri, context)
    await tx.lockParty(partyId)
    const [live] = await Promise.all([liveIssuers(tx, partyId, maxIssuers), requireAgents(agents, context)])
    if (live.length === maxIssuers) {
      fail('conflict', {
        detail: `There are already ${maxIssuers} trusted issuers, which is the maximum. Remove one with revoke_trusted_issuer.`,
      })
    }
    const secret = newCredential('client_secret', environment, system)
    const row: TrustedIssuerRow = {
      id: newId('tis', system, nowMs),
      partyId,
      name,
      issuer,
      jwksUri,
      clientId: newId('oap', system, nowMs),
      agents: JSON.stringify(agents),
      scopes: [...new Set(scopes)].join(' '),
      createdAtMs: nowMs,
      revokedAtMs: null,
    }
    const proof = { secretHash: secret.stored.secretHash }
    await Promise.all([
      insertIssuer(tx, row),
      saveApplicationClient(tx, { ...row, clientName: name }, proof, jwtBearerGrant),
    ])
    const { attributes, ...view } = issuerView(row, context)
    return { ...view, attributes: { ...attributes, clientSecret: secret.credential } }
  },

  listTrustedIssuers: async (input, context) => {
    const { tx, partyId } = context
    const list = { list: 'trustedIssuers', partyId }
    const found = await listIssuers(tx, partyId, pageRequest(input, list))
    return page(found, list, (row) => issuerView(row, context))
  },

  updateTrustedIssuer: async ({ trustedIssuerId, jwksUri, agents, scopes }, context) => {
    const { tx, actor, partyId, nowMs } = context
    // Anyone who can sign with a key published at the new URL can act as the agents. So can anyone who has an assertion
    // that matches the new rules. The caller therefore needs the same permissions as for creating an agent key.
    requireCanGrant(actor, grantedScopes.agentKey())
    if (jwksUri !== undefined) requireAddress('jwksUri', jwksUri, context)
    await tx.lockParty(partyId)
    const before = await loadIssuer(context, trustedIssuerId)
    if (before.revokedAtMs !== null)
      fail('conflict', { detail: 'The issuer is no longer trusted. Trust it again with create_trusted_issuer.' })
    if (agents !== undefined) await requireAgents(agents, context)
    const change = {
      jwksUri: jwksUri ?? before.jwksUri,
      agents: agents === undefined ? before.agents : JSON.stringify(agents),
      scopes: scopes === undefined ? before.scopes : [...new Set(scopes)].join(' '),
    }
    await changeIssuer(tx, before, change, nowMs)
    return issuerView({ ...before, ...change }, context)
  },

  /** Ends the trust in an issuer. If the trust has already ended, the issuer is returned unchanged. */
  revokeTrustedIssuer: async ({ trustedIssuerId }, context) => {
    const { tx, partyId, nowMs } = context
    await tx.lockParty(partyId)
    const before = await loadIssuer(context, trustedIssuerId)
    const meta = { deleted: true } as const
    if (before.revokedAtMs !== null) return { data: issuerView(before, context), meta }
    await revokeIssuer(tx, before, nowMs)
    return { data: issuerView({ ...before, revokedAtMs: nowMs }, context), meta }
  },
} satisfies HandlersOf<typeof trustedIssuers>

/**
 * Requires an https URL on the public internet. A sandbox that other machines cannot reach also accepts an http or
 * https URL on this machine.
 * @throws 422 for the field.
 */
function requireAddress(field: string, address: string, { environment, publicUrl }: Context): void {
  const mayBeLocal = allowsLocalAddresses(environment, publicUrl())
  const problem = addressProblem(address, mayBeLocal)
  if (problem === undefined) return
  const localText = mayBeLocal ? ', or http or https at localhost, 127.0.0.1 or [::1]' : ''
  failAttribute(field, `${field} ${problem} Got ${show(address)}. It accepts https at a public host name${localText}.`)
}

/** Requires that the party has all of these agents. @throws 404 for an unknown agent, 409 for a deleted one. */
async function requireAgents(agents: readonly ClaimRule[], context: Context): Promise<void> {
  for (const { agentId } of agents) {
    const agent = await loadAgent(context, agentId)
    if (agent.status === 'REVOKED') fail('conflict', { detail: `The agent ${agentId} was deleted. Choose another.` })
  }
}

async function loadIssuer({ tx, partyId }: Context, id: string): Promise<TrustedIssuerRow> {
  const row = await findIssuer(tx, { partyId, id })
  return row ?? fail('not_found', { detail: `There is no trusted issuer ${id}.` })
}

function issuerView(row: TrustedIssuerRow, { publicUrl }: Context): z.output<typeof TrustedIssuer> {
  const { id, partyId, name, issuer, jwksUri, clientId, agents, scopes, createdAtMs, revokedAtMs } = row
  return {
    type: 'trustedIssuer',
    id,
    attributes: {
      name,
      issuer,
      jwksUri,
      audience: publicUrl(),
      clientId,
      agents: claimRules(agents),
      scopes: scopes.split(' ').filter(Boolean),
      status: revokedAtMs === null ? 'ACTIVE' : 'REVOKED',
      createdAt: timestamp(createdAtMs),
      revokedAt: revokedAtMs === null ? null : timestamp(revokedAtMs),
    },
    relationships: { party: { data: { type: 'party', id: partyId } } },
  }
}
