import type { credentials } from '../../../tools/credentials.ts'
import type { HandlersOf } from '../request/handler.ts'
import type { Actor } from '../request/permission-checks.ts'
import { isApplication } from '../store/oauth-grants.ts'

export const credentialHandlers = {
  whoami: async (_input, { actor, causeAgentId }) => ({
    type: 'whoami',
    id: actor.partyId,
    attributes: {
      actorType: actor.actorType,
      partyId: actor.partyId,
      // If an agent calls, this is the user who connected the agent; null if no user did.
      userId: actor.userId ?? connectingUserId(actor),
      agentId: causeAgentId,
      agentIdentitySource: causeAgentId === null ? null : identitySource(actor),
      credentialKind: actor.credentialKind,
      // A token of a user's session or of a grant is not a key.
      keyId: actor.actorType === 'user' || actor.grant !== null ? null : actor.keyId,
      grantId: actor.grant?.id ?? null,
    },
  }),
} satisfies HandlersOf<typeof credentials>

/**
 * Returns the id of the user who gave the grant; null if there is no grant, or if a registered application holds it.
 */
function connectingUserId({ grant }: Actor): string | null {
  return grant === null || isApplication(grant) ? null : grant.userId
}

/**
 * Returns how the agent was identified. If a party's key sends X-Agent-ID, the party is still the actor, so `agentId`
 * is null.
 */
function identitySource({ agentId, grant }: Actor): 'credential' | 'oauth_grant' | 'header' {
  if (agentId === null) return 'header'
  return grant === null ? 'credential' : 'oauth_grant'
}
