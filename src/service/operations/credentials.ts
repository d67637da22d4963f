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
      // If an agent calls, this is the user who connected it, if any.
      userId: actor.userId ?? connectingUserId(actor),
      agentId: causeAgentId,
      agentIdentitySource: causeAgentId === null ? null : identitySource(actor),
      credentialKind: actor.credentialKind,
      // The token of a user's session or of a grant is not a key.
      keyId: actor.actorType === 'user' || actor.grant !== null ? null : actor.keyId,
      grantId: actor.grant?.id ?? null,
    },
  }),
} satisfies HandlersOf<typeof credentials>

/** Returns the user who gave the grant. Returns null without a grant, or if a registered application holds it. */
function connectingUserId({ grant }: Actor): string | null {
  return grant === null || isApplication(grant) ? null : grant.userId
}

/** Returns how the agent was identified. With a party's key and X-Agent-ID, the party is still the actor. */
function identitySource({ agentId, grant }: Actor): 'credential' | 'oauth_grant' | 'header' {
  if (agentId === null) return 'header'
  return grant === null ? 'credential' : 'oauth_grant'
}
