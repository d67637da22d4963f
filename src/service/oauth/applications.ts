import type Provider from 'oidc-provider'
import { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Logger } from '../../config/log.ts'
import type { System } from '../../core/system.ts'
import { equalSecrets, sha256 } from '../../core/system.ts'
import { type AddressLimit, limitByAddress } from '../../core/tries.ts'
import { actOfGrant, actOfVisitor } from '../request/activity.ts'
import { type Dependencies, runChange, unchanged } from '../request/settled-transaction.ts'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { findApplication, findGrant, grantIsLive, isApplication } from '../store/oauth-grants.ts'
import { findIssuer } from '../store/trusted-issuers.ts'
import { clientCredentialsGrant, jwtBearerGrant } from '../tokens/resources.ts'
import { addressIn } from './adapter.ts'

/**
 * The signature algorithms that an application's assertion may use. `none` is excluded because assertions must be
 * signed. HS256 is excluded because a public key must never serve as a shared secret.
 */
export const assertionAlgorithms = ['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256'] as const

/**
 * The methods by which clients authenticate. Only applications that a party registered may use a method other than
 * `none`.
 */
export const clientAuthMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const

/** How far an application's clock may be off, in seconds. */
export const clockTolerance = 15

/**
 * The check of a client's metadata. oidc-provider runs the check whenever it reads the client. Only an application that
 * a party registered may authenticate with a secret or key, or use the client credentials and JWT bearer grants. Anyone
 * can create clients of any other kind.
 */
export const clientMetadataCheck: NonNullable<Configuration['extraClientMetadata']> = {
  properties: ['payments_mcp_client'],
  validator: (_ctx, _key, _value, { client_id: clientId, token_endpoint_auth_method: method, grant_types: grants }) => {
    if (isApplication({ clientId: String(clientId) })) return
    if (method !== undefined && method !== 'none') {
      throw new errors.InvalidClientMetadata('token_endpoint_auth_method must be none')
    }
    for (const grant of [clientCredentialsGrant, jwtBearerGrant]) {
      if (Array.isArray(grants) && grants.includes(grant)) {
        throw new errors.InvalidClientMetadata(`grant_types must not contain ${grant}`)
      }
    }
  },
}

/**
 * Returns all scopes of an application that requests a token with the client credentials grant; undefined if the
 * request has a different grant type. If the request has no `scope`, sets its `scope` to all these scopes.
 * @throws InvalidScope if the application lacks a requested scope, InvalidClient if the application was revoked.
 */
export async function scopesOfApplication(store: Store, { oidc }: KoaContextWithOIDC): Promise<string | undefined> {
  const { client, params } = oidc
  if (params?.grant_type !== clientCredentialsGrant || client === undefined) return undefined
  const scopes = await store.read(async (tx) => {
    const found = await findApplication(tx, { clientId: client.clientId })
    const grant = found && (await findGrant(tx, found.id))
    return grant !== undefined && grantIsLive(grant, await realNow(tx)) ? grant.scopes : undefined
  })
  if (scopes === undefined) throw new errors.InvalidClient('the application was revoked')
  const ownScopes = scopes.split(' ')
  const requestedScopes = typeof params.scope === 'string' ? params.scope.split(' ').filter(Boolean) : []
  const lacking = requestedScopes.find((scope) => !ownScopes.includes(scope))
  if (lacking !== undefined) throw new errors.InvalidScope('the application lacks this scope', lacking)
  if (requestedScopes.length === 0) params.scope = scopes
  return scopes
}

/**
 * Returns the claim that contains the id of a token's grant. With this id, the service looks up the grant whenever the
 * token is used.
 */
export async function grantClaim(
  store: Store,
  token: { kind: string; clientId?: string | undefined; grantId?: string | undefined },
): Promise<{ grant_id: string } | undefined> {
  if (token.kind !== 'ClientCredentials') return token.grantId === undefined ? undefined : { grant_id: token.grantId }
  const grant = await store.read((tx) => findApplication(tx, { clientId: String(token.clientId) }))
  return grant && { grant_id: grant.id }
}

/** Makes oidc-provider compare the hashes of client secrets, because only the hashes are stored. */
export function compareHashedSecrets(provider: Provider): void {
  const { prototype } = provider.Client as unknown as {
    prototype: { clientSecret?: string; compareClientSecret(actual: string): boolean }
  }
  prototype.compareClientSecret = function compareClientSecret(actual) {
    return this.clientSecret !== undefined && equalSecrets(this.clientSecret, sha256(actual))
  }
}

/**
 * The limits on recorded refusals, per process, in each minute. Without these limits, anyone could fill the activity
 * log of a party.
 */
const refusalLimits = { each: 60, all: 1200, seconds: 60 }

interface RefusalDependencies extends Dependencies {
  system: System
  log: Logger
}

/**
 * Returns a function that records an application's refused token request in the activity log of the application's
 * party.
 */
export function createRefusalLog(dependencies: RefusalDependencies) {
  const mayRecord: AddressLimit = limitByAddress(dependencies.system, refusalLimits)
  return async (ctx: KoaContextWithOIDC): Promise<void> => {
    // A request that matches no endpoint has no `oidc` context.
    const { client, route } = (ctx.oidc as KoaContextWithOIDC['oidc'] | undefined) ?? {}
    if (route !== 'token' || ctx.status < 400 || client === undefined || !isApplication(client)) return
    const { error: code = 'invalid_request' } = (ctx.body ?? {}) as { error?: string }
    if (!mayRecord(addressIn(ctx))) return dependencies.log.warn({ client: client.clientId, code }, 'not recorded')
    await runChange(dependencies, async ({ tx }) => {
      const by = { clientId: client.clientId }
      const refusal = { operation: 'request_application_token', status: ctx.status, code }
      const grant = await findApplication(tx, by)
      if (grant !== undefined) return { result: undefined, acts: [actOfGrant(grant, refusal)] }
      // No assertion was accepted, so the agent is unknown, and the entry contains only the party.
      const issuer = await findIssuer(tx, by)
      return issuer === undefined ? unchanged(undefined) : { result: undefined, acts: [actOfVisitor(issuer, refusal)] }
    })
  }
}
