import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { scopes } from '../src/core/permissions.ts'
import { secret } from '../src/core/secret-fields.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Tags, Text, Timestamp, toOne } from './schemas.ts'

const attributes = {
  apiKeyPrefix: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  environment: z.enum(['sandbox', 'prod']),
  status: z.enum(['ACTIVE', 'REVOKED']),
  createdAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
  createdBy: Id('usr').nullable(),
  revokedBy: Id('usr').nullable(),
  tags: z.record(z.string(), z.string()),
}
const relationships = { party: toOne('party', 'pty') }

/** A key for acting as the party that owns the key (docs/service.md#api-keys). */
export const ApiKey = resource('apiKey', Id('apy'), attributes, relationships)
/** A new key, as returned when it is created. No other response contains the complete key. */
export const CreatedApiKey = resource(
  'apiKey',
  Id('apy'),
  { ...attributes, apiKey: secret(z.string().describe('Secret, shown once')) },
  relationships,
)

const keyParams = z.strictObject({ keyId: ArgumentId('apy') })

const shared = {
  output: ApiKey,
  toolsets: ['credentials'],
  extension: false,
} as const

export const apiKeys = {
  createApiKey: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    name: 'create_api_key',
    title: 'Create an API key',
    description:
      'Creates a key for acting as your party. Its secret is shown only once: store it safely. To use cards: create_agent_key.',
    answers: 201,
    path: '/api-keys',
    attributes: z.strictObject({
      name: Text(100).describe('A label for your own use'),
      scopes: z
        .array(z.enum(scopes))
        .max(scopes.length)
        .optional()
        .describe('Such as payments.read; only scopes that you have; default: all of them'),
      tags: Tags.optional(),
    }),
    output: CreatedApiKey,
    permission: 'api_keys.create',
    adds: true,
    errors: [],
  }),

  listApiKeys: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_api_keys',
    title: 'List API keys',
    description: "Lists your party's own keys, newest first, without their secrets.",
    path: '/api-keys',
    query: listQuery({ status: z.enum(['ACTIVE', 'REVOKED']).describe('Only this status').optional() }),
    permission: 'api_keys.read',
    errors: [],
  }),

  getApiKey: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_api_key',
    title: 'Read an API key',
    description: 'Reads one API key: its scopes and last use, without its secret.',
    path: '/api-keys/{keyId}',
    params: keyParams,
    permission: 'api_keys.read',
    errors: ['not_found'],
  }),

  revokeApiKey: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'revoke_api_key',
    title: 'Revoke an API key',
    description: 'Revokes an API key at once and for good: requests with it are refused.',
    path: '/api-keys/{keyId}',
    params: keyParams,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'api_keys.delete',
    errors: ['not_found'],
  }),
} as const
