import { z } from 'zod'
import { asRelationship } from '../src/core/body-places.ts'
import { defineOperation } from '../src/core/operation.ts'
import { applicationScopes } from '../src/core/permissions.ts'
import { secret } from '../src/core/secret-fields.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Text, Timestamp, toOne } from './schemas.ts'

const attributes = {
  clientId: z.string().describe('The client_id for token requests'),
  name: z.string(),
  authentication: z.enum(['client_secret', 'private_key_jwt']),
  scopes: z.array(z.string()),
  status: z.enum(['ACTIVE', 'REVOKED']),
  createdAt: Timestamp,
  lastUsedAt: Timestamp.nullable(),
  revokedAt: Timestamp.nullable(),
}
const relationships = { party: toOne('party', 'pty'), agent: toOne('agent', 'agt') }

/** A program that signs in by itself as one agent (docs/service.md#applications-that-sign-in-without-a-person). */
export const Application = resource('application', Id('ogr'), attributes, relationships)
/** A new application, as returned when it is created. No other response contains the secret. */
export const CreatedApplication = resource(
  'application',
  Id('ogr'),
  {
    ...attributes,
    clientSecret: secret(z.string().nullable().describe('Secret, shown once; null with publicKeys')),
  },
  relationships,
)

/** A public key as JSON (RFC 7517). A private key is refused, because the schema does not accept its member `d`. */
const PublicKey = z.strictObject({
  kty: z.enum(['EC', 'OKP', 'RSA']).describe('Kind of key'),
  crv: z.string().max(20).optional().describe('Curve, such as P-256'),
  x: z.string().max(200).optional().describe('For EC and OKP keys'),
  y: z.string().max(200).optional().describe('For EC keys'),
  n: z.string().max(1400).optional().describe('RSA modulus'),
  e: z.string().max(20).optional().describe('RSA exponent'),
  kid: z.string().max(200).optional().describe('Key id in assertions'),
  alg: z.string().max(20).optional().describe('Such as ES256'),
  use: z.literal('sig').optional().describe('For signing'),
})
/**
 * The accepted members of a public key. The `/connections` page removes other members, such as `key_ops`, from the keys
 * that a person enters.
 */
export const publicKeyMembers = Object.keys(PublicKey.shape)
export const maxKeys = 5
const PublicKeys = z.array(PublicKey).min(1).max(maxKeys)
const Scopes = z.array(z.enum(applicationScopes)).max(applicationScopes.length)

const params = z.strictObject({ applicationId: ArgumentId('ogr') })

const shared = {
  output: Application,
  toolsets: ['credentials'],
  extension: true,
} as const

export const applications = {
  createApplication: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    name: 'create_application',
    title: 'Register an application',
    description:
      'Registers a program that signs in by itself as one agent, by OAuth client credentials. Its secret is shown only once.',
    answers: 201,
    path: '/applications',
    attributes: z.strictObject({
      name: Text(100).describe('Your name for the program'),
      agentId: asRelationship(ArgumentId('agt')),
      scopes: Scopes.optional().describe('OAuth scopes; default: those of a new connection'),
      publicKeys: PublicKeys.optional().describe('JWKs for private_key_jwt; omit to get a secret'),
    }),
    output: CreatedApplication,
    permission: 'applications.manage',
    adds: true,
    errors: ['not_found', 'conflict'],
  }),

  listApplications: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_applications',
    title: 'List applications',
    description:
      'Lists the programs that sign in by themselves, including revoked ones, newest first and without their secrets.',
    path: '/applications',
    query: listQuery({}),
    permission: 'applications.read',
    errors: [],
  }),

  updateApplication: defineOperation({
    ...shared,
    ...writeOperation,
    method: 'PATCH',
    name: 'update_application',
    title: 'Change an application',
    description: "Reduces an application's scopes, including those of existing tokens, or replaces its public keys.",
    path: '/applications/{applicationId}',
    params,
    attributes: z.strictObject({
      scopes: Scopes.optional().describe('A subset of its current scopes'),
      publicKeys: PublicKeys.optional().describe('Replaces all its keys'),
    }),
    permission: 'applications.manage',
    errors: ['not_found', 'conflict'],
  }),

  revokeApplication: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'revoke_application',
    title: 'Revoke an application',
    description: 'Revokes an application and all its tokens, at once and for good.',
    path: '/applications/{applicationId}',
    params,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'applications.manage',
    errors: ['not_found'],
  }),
} as const
