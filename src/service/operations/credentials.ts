import type { credentials } from '../../../tools/credentials.ts'
import type { HandlersOf } from '../request/handler.ts'

export const credentialHandlers = {
  whoami: async (_input, { actor }) => ({
    type: 'whoami',
    id: actor.partyId,
    attributes: {
      actorType: actor.actorType,
      partyId: actor.partyId,
      // A connected agent tells the user who connected it.
      userId: actor.userId ?? actor.grant?.userId ?? null,
      agentId: actor.agentId,
      agentIdentitySource: actor.agentId === null ? null : actor.grant === null ? 'credential' : 'oauth_grant',
      credentialKind: actor.credentialKind,
      // A user signs in; the token that stands for it is no key.
      keyId: actor.actorType === 'user' || actor.grant !== null ? null : actor.keyId,
      grantId: actor.grant?.id ?? null,
    },
  }),
} satisfies HandlersOf<typeof credentials>
