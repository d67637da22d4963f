import type { credentials } from '../../../tools/credentials.ts'
import type { Actor } from '../request/actor.ts'
import type { HandlersOf } from '../request/handler.ts'

export const credentialHandlers = {
  whoami: async (_input, { actor, causeAgentId }) => ({
    type: 'whoami',
    id: actor.partyId,
    attributes: {
      actorType: actor.actorType,
      partyId: actor.partyId,
      // A connected agent tells the user who connected it.
      userId: actor.userId ?? actor.grant?.userId ?? null,
      agentId: causeAgentId,
      agentIdentitySource: causeAgentId === null ? null : identitySource(actor),
      credentialKind: actor.credentialKind,
      // A user signs in; the token that stands for it is no key.
      keyId: actor.actorType === 'user' || actor.grant !== null ? null : actor.keyId,
      grantId: actor.grant?.id ?? null,
    },
  }),
} satisfies HandlersOf<typeof credentials>

/** By what an agent is known. A party's key that names one in X-Agent-ID acts as the party all the same. */
function identitySource({ agentId, grant }: Actor): 'credential' | 'oauth_grant' | 'header' {
  if (agentId === null) return 'header'
  return grant === null ? 'credential' : 'oauth_grant'
}
