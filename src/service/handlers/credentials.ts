import type { Handler } from '../handler.ts'

export const whoami: Handler<'whoami'> = async (_input, { actor }) => ({
  type: 'whoami',
  id: actor.partyId,
  attributes: {
    actorType: actor.actorType,
    partyId: actor.partyId,
    userId: null,
    agentId: actor.agentId,
    agentIdentitySource: actor.agentId === null ? null : 'credential',
    credentialKind: actor.credentialKind,
    keyId: actor.keyId,
    grantId: null,
  },
})
