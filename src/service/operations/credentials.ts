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
      // For a connected agent, this is the user who connected it.
      userId: actor.userId ?? connectingUserId(actor),
      agentId: causeAgentId,
      agentIdentitySource: causeAgentId === null ? null : identitySource(actor),
      credentialKind: actor.credentialKind,
      // Users sign in; the token that represents their session is not a key.
      keyId: actor.actorType === 'user' || actor.grant !== null ? null : actor.keyId,
      grantId: actor.grant?.id ?? null,
    },
  }),
} satisfies HandlersOf<typeof credentials>

/** Returns the user who connected an application; null for one that signs in by itself. */
function connectingUserId({ grant }: Actor): string | null {
  return grant === null || isApplication(grant) ? null : grant.userId
}

/** Returns how the agent was identified. A party's key that names an agent in X-Agent-ID still acts as the party. */
function identitySource({ agentId, grant }: Actor): 'credential' | 'oauth_grant' | 'header' {
  if (agentId === null) return 'header'
  return grant === null ? 'credential' : 'oauth_grant'
}
