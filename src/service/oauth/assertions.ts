import { type JWTPayload, errors as jose, jwtVerify } from 'jose'
import type Provider from 'oidc-provider'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Logger } from '../../config/log.ts'
import { show } from '../../core/errors.ts'
import type { Environment } from '../../core/operation.ts'
import { resolveScopeAliases } from '../../core/scope-aliases.ts'
import { newId, sha256 } from '../../core/system.ts'
import type { SettledContext } from '../request/due-effects.ts'
import { type Dependencies, runSettled } from '../request/settled-transaction.ts'
import { agentFor } from '../rules/trusted-issuers.ts'
import { findAgent } from '../store/agents.ts'
import type { Transaction } from '../store/engine/store.ts'
import { liveGrants } from '../store/oauth-grants.ts'
import { saveRecordOnce } from '../store/oauth-records.ts'
import type { TrustedIssuerRow } from '../store/schema/trusted-issuers.ts'
import { findIssuer, insertIssuerGrant } from '../store/trusted-issuers.ts'
import { audienceOf, audiences, jwtBearerGrant } from '../tokens/resources.ts'
import { assertionAlgorithms, clockTolerance } from './applications.ts'
import { createIssuerKeys } from './issuer-keys.ts'
import { resourceServer } from './resource-server.ts'

interface AssertionDependencies extends Dependencies {
  environment: Environment
  publicUrl: string
  fetch: typeof globalThis.fetch
  log: Logger
}

/** The maximum lifetime of an assertion, in seconds. A used assertion's id is stored until the assertion expires. */
const maxLifetime = 60 * 60

/** The claims of a verified assertion. */
interface Claims {
  jti: string
  exp: number
  resource: string
  /** Undefined if the assertion does not limit the scopes. */
  scope: string | undefined
  all: JWTPayload
}

/** The error for a refused assertion, with the reason (RFC 7523 section 3.1). */
class RefusedAssertionError extends errors.OIDCProviderError {
  override readonly error_description: string
  constructor(reason: string) {
    super(400, 'invalid_grant')
    this.error_description = reason
  }
}

/**
 * Registers the grant type that exchanges an assertion for an access token (RFC 7523, Identity Assertion JWT
 * Authorization Grant). The assertion comes from an identity provider that the application's party trusts. There is no
 * refresh token, so access ends when the token expires, unless the application presents a new assertion.
 */
export function registerAssertionGrant(provider: Provider, dependencies: AssertionDependencies): void {
  const { publicUrl } = dependencies
  const keysAt = createIssuerKeys(dependencies)
  const handle = async (ctx: KoaContextWithOIDC) => {
    const client = ctx.oidc.client as NonNullable<typeof ctx.oidc.client>
    const { assertion, resource, scope } = ctx.oidc.params as Readonly<Record<string, string | undefined>>
    if (assertion === undefined) throw new errors.InvalidRequest("missing required parameter 'assertion'")
    const by = { clientId: client.clientId }
    const issuer = await dependencies.store.read((tx) => trustedIssuer(tx, by))
    const claims = await readAssertion(assertion, issuer, keysAt(issuer.jwksUri), dependencies)
    const audience = audienceIn(claims, resource, publicUrl)
    const accepted = await runSettled(dependencies, (context) => accept(context, by, claims, scope))
    const token = new provider.AccessToken({
      client,
      accountId: issuer.id,
      grantId: accepted.grantId,
      gty: jwtBearerGrant,
      scope: accepted.scope,
    } as never)
    token.resourceServer = new provider.ResourceServer(audience, resourceServer(audience, accepted.scope))
    ctx.oidc.entity('AccessToken', token)
    const value = await token.save()
    ctx.body = { access_token: value, expires_in: token.expiration, token_type: token.tokenType, scope: token.scope }
  }
  provider.registerGrantType(jwtBearerGrant, handle as never, ['assertion', 'scope', 'resource'])
}

/**
 * Returns the identity provider that issues the application's assertions.
 * @throws InvalidClient if the application's party does not trust that provider.
 */
async function trustedIssuer(tx: Transaction, by: { clientId: string }): Promise<TrustedIssuerRow> {
  const issuer = await findIssuer(tx, by)
  if (issuer === undefined || issuer.revokedAtMs !== null) throw new errors.InvalidClient('the issuer is not trusted')
  return issuer
}

/**
 * Verifies that the issuer signed the assertion for this server and this application, and returns the assertion's
 * claims.
 */
async function readAssertion(
  assertion: string,
  { issuer, clientId }: TrustedIssuerRow,
  keys: ReturnType<ReturnType<typeof createIssuerKeys>>,
  { publicUrl, log }: AssertionDependencies,
): Promise<Claims> {
  const payload = await verifyAssertion(assertion, keys, {
    algorithms: [...assertionAlgorithms],
    typ: 'oauth-id-jag+jwt',
    issuer,
    audience: publicUrl,
    clockTolerance,
    maxTokenAge: maxLifetime,
    requiredClaims: ['sub', 'jti', 'exp', 'client_id', 'resource'],
  }).catch((error: unknown) => {
    log.info({ issuer, reason: String(error) }, 'an assertion was refused')
    throw new RefusedAssertionError(reasonOf(error, issuer))
  })
  const { iat = 0, exp = 0, aud, jti, resource, scope } = payload
  if (payload.client_id !== clientId) {
    throw new RefusedAssertionError(`client_id must be ${clientId}, the application that presents the assertion.`)
  }
  // If an assertion named several servers, each of them could present the assertion here.
  if (typeof aud !== 'string') throw new RefusedAssertionError(`aud must be exactly ${publicUrl}.`)
  if (exp - iat > maxLifetime) {
    throw new RefusedAssertionError(`exp is ${exp - iat} s after iat. The limit is ${maxLifetime} s.`)
  }
  if (typeof jti !== 'string' || typeof resource !== 'string') {
    throw new RefusedAssertionError('jti and resource must be strings.')
  }
  return { jti, exp, resource, scope: typeof scope === 'string' ? resolveScopeAliases(scope) : undefined, all: payload }
}

async function verifyAssertion(
  ...[assertion, keys, options]: Parameters<typeof jwtVerify<never>>
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(assertion, keys as never, options)
  return payload
}

/** Explains why an assertion was refused, without quoting the assertion itself. */
function reasonOf(error: unknown, issuer: string): string {
  if (error instanceof jose.JWTExpired) return 'The assertion has expired. Ask the identity provider for a new one.'
  if (error instanceof jose.JWTClaimValidationFailed) {
    return `The assertion's ${error.claim} is missing or invalid (${error.message}).`
  }
  const isMalformed = [jose.JWSInvalid, jose.JWTInvalid, jose.JOSEAlgNotAllowed, jose.JOSENotSupported].some(
    (kind) => error instanceof kind,
  )
  if (isMalformed) return `assertion must be a JWT that is signed with ${assertionAlgorithms.join(' or ')}.`
  if (error instanceof jose.JWKSNoMatchingKey || error instanceof jose.JWSSignatureVerificationFailed) {
    return `No key of ${issuer} matches the assertion's signature.`
  }
  return `The keys of ${issuer} could not be read. Check the issuer's jwksUri with list_trusted_issuers.`
}

/**
 * Returns the audience for which an assertion was issued. If the request also states an audience, the two must be the
 * same.
 */
function audienceIn({ resource }: Claims, requested: string | undefined, publicUrl: string): string {
  const audience = audienceOf(publicUrl, resource)
  const accepted = audiences(publicUrl).join(' or ')
  if (audience === undefined) {
    throw new RefusedAssertionError(`The assertion's resource is ${show(resource)}; it must be ${accepted}.`)
  }
  if (requested !== undefined && audienceOf(publicUrl, requested) !== audience) {
    throw new errors.InvalidTarget(`resource must be ${audience}, as in the assertion`)
  }
  return audience
}

/**
 * Marks an assertion as used. Returns the scopes of the new token, and the id of the grant for the assertion's agent.
 * Creates this grant if there is none.
 */
async function accept(
  { tx, system, nowMs, realNowMs }: SettledContext,
  by: { clientId: string },
  { jti, exp, scope: allowed, all }: Claims,
  requested: string | undefined,
): Promise<{ grantId: string; scope: string }> {
  // An update of the issuer, which also revokes the issuer's grants, holds the same lock. So the issuer is read again
  // under the lock: otherwise, a new grant could follow rules that an update has just replaced.
  await tx.lockParty((await trustedIssuer(tx, by)).partyId)
  const issuer = await trustedIssuer(tx, by)
  const use = { model: 'Assertion', idHash: sha256(`${issuer.id} ${jti}`), uid: null, grantId: issuer.id }
  const expiresAtMs = (exp + 2 * clockTolerance) * 1000
  if (!(await saveRecordOnce(tx, { ...use, payload: '{}', userCodeHash: null, expiresAtMs, createdAtMs: realNowMs }))) {
    throw new RefusedAssertionError('The assertion was already used. Ask the identity provider for a new one.')
  }
  const agentId = agentFor(issuer.agents, all)
  const agent = agentId === undefined ? undefined : await findAgent(tx, issuer.partyId, agentId)
  if (agent?.status !== 'ACTIVE') {
    throw new RefusedAssertionError("The assertion's claims match no agent. See agents in list_trusted_issuers.")
  }
  const bounds = [allowed, requested].filter((text) => text !== undefined).map((text) => text.split(' '))
  const scopes = issuer.scopes.split(' ').filter((scope) => bounds.every((bound) => bound.includes(scope)))
  if (scopes.length === 0 && issuer.scopes !== '') {
    throw new errors.InvalidScope('none of these scopes is allowed', requested ?? allowed ?? '')
  }
  const grants = await liveGrants(tx, issuer.id, realNowMs)
  const found = grants.find((grant) => grant.agentId === agent.id)
  if (found !== undefined) return { grantId: found.id, scope: scopes.join(' ') }
  const id = newId('ogr', system, nowMs)
  await insertIssuerGrant(tx, issuer, { id, agentId: agent.id, createdAtMs: nowMs })
  return { grantId: id, scope: scopes.join(' ') }
}
