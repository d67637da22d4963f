import { z } from 'zod'
import { asRelationship } from '../src/core/body-places.ts'
import { defineOperation } from '../src/core/operation.ts'
import { secret } from '../src/core/secret-fields.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Tags, Timestamp, toOne } from './schemas.ts'

const attributes = {
  agentKeyPrefix: z.string(),
  status: z.enum(['ACTIVE', 'REVOKED']),
  createdAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
  createdBy: Id('usr').nullable(),
  revokedBy: Id('usr').nullable(),
  expiresAt: Timestamp.nullable(),
  tags: z.record(z.string(), z.string()),
}
const relationships = { party: toOne('party', 'pty'), agent: toOne('agent', 'agt') }
const key = z.string().describe('Secret, shown once')

/** A key for acting as one agent (docs/service.md#agent-keys). */
export const AgentKey = resource('agentKey', Id('agk'), attributes, relationships)
/** A new key, as returned when it is created. No other response contains the complete key. */
export const CreatedAgentKey = resource('agentKey', Id('agk'), { ...attributes, agentKey: secret(key) }, relationships)
/** The key that replaces a rotated key. `previousKeyExpiresAt` is null if the old key stopped working immediately. */
export const RotatedAgentKey = resource(
  'agentKey',
  Id('agk'),
  { ...attributes, agentKey: secret(key), previousKeyExpiresAt: Timestamp.nullable() },
  relationships,
)

const keyParams = z.strictObject({ keyId: ArgumentId('agk') })
/** The longest time that a rotated key still works: one day (docs/service.md#agent-key-rotation). */
const maxGraceSeconds = 86_400

const shared = {
  output: AgentKey,
  toolsets: ['credentials'],
  extension: false,
} as const

export const agentKeys = {
  createAgentKey: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    name: 'create_agent_key',
    title: 'Create an agent key',
    description:
      'Creates a key for one agent. Unlike API keys, it can use cards. It is shown only once: store it safely. To replace it: rotate_agent_key.',
    answers: 201,
    path: '/agent-keys',
    attributes: z.strictObject({ tags: Tags.optional(), agentId: asRelationship(ArgumentId('agt')) }),
    output: CreatedAgentKey,
    permission: 'api_keys.create',
    adds: true,
    errors: ['not_found', 'conflict'],
  }),

  listAgentKeys: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_agent_keys',
    title: 'List agent keys',
    description: "Lists agent keys, newest first, with prefix and last use. For your party's own keys: list_api_keys.",
    path: '/agent-keys',
    query: listQuery({ agentId: ArgumentId('agt', 'Only for this agent').optional() }),
    permission: 'api_keys.read',
    errors: [],
  }),

  rotateAgentKey: defineOperation({
    ...shared,
    ...writeOperation,
    effect: 'destructive',
    name: 'rotate_agent_key',
    title: 'Rotate an agent key',
    description:
      'Replaces an agent key; the old key still works for a grace period. The new secret is shown only once.',
    path: '/agent-keys/{keyId}/rotate',
    params: keyParams,
    attributes: z.strictObject({
      expiresInSeconds: z.int().min(0).max(maxGraceSeconds).describe('Grace period of the old key; 0: none'),
      tags: Tags.optional(),
    }),
    output: RotatedAgentKey,
    permission: 'api_keys.create',
    adds: true,
    errors: ['not_found', 'conflict'],
  }),

  revokeAgentKey: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'revoke_agent_key',
    title: 'Revoke an agent key',
    description: 'Revokes an agent key at once and for good. To switch to a new key without a gap: rotate_agent_key.',
    path: '/agent-keys/{keyId}',
    params: keyParams,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'api_keys.delete',
    errors: ['not_found'],
  }),
} as const
