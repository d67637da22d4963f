import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation } from './kinds.ts'
import { Id, resource } from './schemas.ts'

/** The identity of the caller (docs/service.md#who-am-i). The id of the resource is the id of the caller's party. */
export const Whoami = resource('whoami', Id('pty'), {
  actorType: z.enum(['user', 'party', 'agent']),
  partyId: Id('pty'),
  userId: Id('usr').nullable(),
  agentId: Id('agt').nullable(),
  agentIdentitySource: z.enum(['credential', 'oauth_grant', 'header']).nullable(),
  credentialKind: z.enum(['api_key', 'agent_key', 'oauth_access_token', 'exchanged_token']),
  keyId: z.string().nullable(),
  grantId: z.string().nullable(),
})

export const credentials = {
  whoami: defineOperation({
    ...readOperation,
    name: 'whoami',
    title: 'Who am I',
    description: 'Shows who you act as. The person can add tools for invitations, money requests and banks.',
    path: '/whoami',
    output: Whoami,
    permission: 'identity.read',
    toolsets: ['default'],
    agentHeader: true,
    errors: [],
    example: { attributes: { actorType: 'agent', credentialKind: 'agent_key' } },
    extension: false,
  }),
} as const
