import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { applicationScopes } from '../src/core/permissions.ts'
import { secret } from '../src/core/secret-fields.ts'
import { deleteOperation, readOperation, writeOperation } from './kinds.ts'
import { ArgumentId, Id, listQuery, resource, Text, Timestamp, toOne } from './schemas.ts'

/** The maximum number of issuers that a party can trust at the same time. */
export const maxIssuers = 50

const attributes = {
  name: z.string(),
  issuer: z.string(),
  jwksUri: z.string(),
  audience: z.string().describe("The aud claim of the provider's assertions, which identifies this server"),
  clientId: z.string().describe("The client_id claim of the provider's assertions"),
  agents: z.array(z.object({ claim: z.string(), value: z.string(), agentId: z.string() })),
  scopes: z.array(z.string()),
  status: z.enum(['ACTIVE', 'REVOKED']),
  createdAt: Timestamp,
  revokedAt: Timestamp.nullable(),
}
const relationships = { party: toOne('party', 'pty') }

/**
 * An identity provider whose assertions let one application sign in as agents
 * (docs/service.md#sign-in-through-an-identity-provider).
 */
export const TrustedIssuer = resource('trustedIssuer', Id('tis'), attributes, relationships)
/** A new trusted issuer, as returned when it is created. No other response contains the client secret. */
export const CreatedTrustedIssuer = resource(
  'trustedIssuer',
  Id('tis'),
  { ...attributes, clientSecret: secret(z.string()).describe('Secret of the application, shown once') },
  relationships,
)

const UrlString = z.string().min(1).max(500)
const Agents = z
  .array(
    z.strictObject({
      claim: z.string().min(1).max(100).describe('Such as sub or groups'),
      value: z.string().min(1).max(200).describe('The claim must equal or contain this'),
      agentId: ArgumentId('agt'),
    }),
  )
  .min(1)
  .max(100)
const Scopes = z.array(z.enum(applicationScopes)).max(applicationScopes.length)

const params = z.strictObject({ trustedIssuerId: ArgumentId('tis') })

const shared = {
  output: TrustedIssuer,
  toolsets: ['credentials'],
  extension: true,
} as const

export const trustedIssuers = {
  createTrustedIssuer: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    name: 'create_trusted_issuer',
    title: 'Trust an identity provider',
    description:
      "Lets one new application sign in as your agents through a company's identity provider (ID-JAG). clientSecret is shown only once.",
    answers: 201,
    path: '/trusted-issuers',
    attributes: z.strictObject({
      name: Text(100).describe('Your name for the application'),
      issuer: UrlString.describe("The iss claim of the provider's assertions"),
      jwksUri: UrlString.describe("URL of the provider's public keys"),
      agents: Agents.describe('The first entry whose claim matches chooses the agent'),
      scopes: Scopes.optional().describe('Maximum scopes; default: those of a new connection'),
    }),
    output: CreatedTrustedIssuer,
    example: { attributes: { clientSecret: 'cs_ntl_sandbox_0198a1b2c3d4e5f6' } },
    permission: 'applications.manage',
    adds: true,
    errors: ['not_found', 'conflict'],
  }),

  listTrustedIssuers: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_trusted_issuers',
    title: 'List trusted identity providers',
    description: 'Lists the identity providers that the party trusts, including revoked ones, newest first.',
    path: '/trusted-issuers',
    query: listQuery({}),
    permission: 'applications.read',
    errors: [],
  }),

  updateTrustedIssuer: defineOperation({
    ...shared,
    ...writeOperation,
    method: 'PATCH',
    name: 'update_trusted_issuer',
    title: 'Change a trusted identity provider',
    description:
      "Replaces an identity provider's key URL, agents or scopes. Tokens issued through it stop working at once.",
    path: '/trusted-issuers/{trustedIssuerId}',
    params,
    attributes: z.strictObject({
      jwksUri: UrlString.optional().describe("URL of the provider's public keys"),
      agents: Agents.optional().describe('Replaces all entries'),
      scopes: Scopes.optional().describe('Replaces all scopes'),
    }),
    permission: 'applications.manage',
    errors: ['not_found', 'conflict'],
  }),

  revokeTrustedIssuer: defineOperation({
    ...shared,
    ...deleteOperation,
    name: 'revoke_trusted_issuer',
    title: 'End the trust in an identity provider',
    description: 'Ends the trust in an identity provider for good. All tokens issued through it stop working at once.',
    path: '/trusted-issuers/{trustedIssuerId}',
    params,
    meta: z.object({ deleted: z.literal(true) }),
    permission: 'applications.manage',
    errors: ['not_found'],
  }),
} as const
