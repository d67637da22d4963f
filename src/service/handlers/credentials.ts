import type { Handler } from '../handler.ts'

export const whoami: Handler<'whoami'> = async (_input, { actor }) => ({
  type: 'whoami',
  id: actor.partyId,
  attributes: {
    actorType: actor.actorType,
    partyId: actor.partyId,
    userId: actor.userId,
    agentId: actor.agentId,
    agentIdentitySource: actor.agentId === null ? null : 'credential',
    credentialKind: actor.credentialKind,
    // A user signs in; the token that stands for it is no key.
    keyId: actor.actorType === 'user' ? null : actor.keyId,
    grantId: null,
  },
})
