import type { Environment } from '../../core/operation.ts'
import { newId, sha256 } from '../../core/system.ts'
import { keyIsValid } from '../request/authentication.ts'
import type { SettledContext } from '../request/due-effects.ts'
import type { LastUses } from '../request/last-use.ts'
import type { RateLimit } from '../request/rate-limit.ts'
import { type Dependencies, runSettled } from '../request/settled-transaction.ts'
import { insertAccessToken, insertGrantToken } from '../store/access-tokens.ts'
import { findCredential } from '../store/credentials.ts'
import { StoreBusyError } from '../store/engine/store.ts'
import { findGrant, grantIsLive } from '../store/oauth-grants.ts'
import { type AccessTokens, looksSigned, matchesGrant } from '../tokens/access-tokens.ts'
import { providerGrants, tokenExchangeGrant } from '../tokens/resources.ts'
import { credentialPrefix, newCredential } from '../tokens/secrets.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'
import { errorAnswer, jsonAnswer } from './json-answers.ts'

export interface ExchangeDependencies extends Dependencies {
  environment: Environment
  rateLimit: (keyId: string) => Promise<RateLimit>
  lastUses: LastUses
  accessTokens: AccessTokens
}

/** The maximum lifetime of an exchanged token, by the real clock (docs/service.md#short-lived-tokens). */
const lifetimeSeconds = 15 * 60

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

/**
 * The parameters of a token request, each allowed at most once (RFC 6749 section 3.2). Other parameters are ignored, as
 * the RFC requires.
 */
const parameterNames = [
  'grant_type',
  'subject_token',
  'subject_token_type',
  'requested_token_type',
  'actor_token',
  'actor_token_type',
  'scope',
] as const
type Form = Partial<Record<(typeof parameterNames)[number], string>>

/**
 * An error with a code from RFC 6749 section 5.2. Only `temporarily_unavailable` is from section 4.1.2.1, because
 * section 5.2 has no code for an error that goes away after a retry.
 */
class TokenError extends Error {
  readonly code: string
  readonly status: 400 | 429
  readonly headers: Readonly<Record<string, string>>

  constructor(code: string, description: string, status: TokenError['status'] = 400, headers = {}) {
    super(description)
    this.code = code
    this.status = status
    this.headers = headers
  }
}

/**
 * Exchanges a key, or an access token of a grant, for a short-lived token with the same identity (RFC 8693). The caller
 * needs no authentication besides this key or token. Returns undefined if oidc-provider handles the request's grant
 * type.
 */
export async function exchangeToken(
  dependencies: ExchangeDependencies,
  contentType: string | undefined,
  body: string,
): Promise<Response | undefined> {
  try {
    const subjectToken = readRequest(contentType, body)
    return subjectToken === undefined ? undefined : jsonAnswer(200, await mint(dependencies, subjectToken))
  } catch (error) {
    if (error instanceof TokenError) return errorAnswer(error.status, error.code, error.message, error.headers)
    if (error instanceof StoreBusyError) {
      return errorAnswer(503, 'temporarily_unavailable', 'The service is busy. Try again.', { 'Retry-After': '1' })
    }
    throw error
  }
}

/**
 * Returns the key or token to exchange (the subject token); undefined if oidc-provider handles the grant type.
 * @throws TokenError for an unsupported grant type or an invalid exchange.
 */
function readRequest(contentType: string | undefined, body: string): string | undefined {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType ?? '')) {
    throw new TokenError('invalid_request', 'The body must be application/x-www-form-urlencoded.')
  }
  const parameters = new URLSearchParams(body)
  const form: Form = {}
  for (const name of parameterNames) {
    const values = parameters.getAll(name)
    if (values.length > 1) throw new TokenError('invalid_request', `${name} is given more than once.`)
    // An empty value counts as omitted (RFC 6749 section 3.2).
    if (values[0]) form[name] = values[0]
  }
  if (form.grant_type === undefined) throw new TokenError('invalid_request', 'grant_type is missing.')
  if (providerGrants.includes(form.grant_type)) return undefined
  if (form.grant_type !== tokenExchangeGrant) {
    throw new TokenError(
      'unsupported_grant_type',
      `grant_type must be one of: ${[tokenExchangeGrant, ...providerGrants].join(', ')}.`,
    )
  }
  if (form.subject_token === undefined) throw new TokenError('invalid_request', 'subject_token is missing.')
  if (form.subject_token_type !== accessTokenType) {
    throw new TokenError('invalid_request', `subject_token_type must be ${accessTokenType}.`)
  }
  if ((form.requested_token_type ?? accessTokenType) !== accessTokenType) {
    throw new TokenError('invalid_request', `requested_token_type must be ${accessTokenType}.`)
  }
  if (form.actor_token !== undefined || form.actor_token_type !== undefined) {
    throw new TokenError('invalid_request', 'actor_token is not supported: the identity is that of subject_token.')
  }
  // If `scope` were ignored, the new token would allow more than was requested.
  if (form.scope !== undefined) {
    throw new TokenError('invalid_request', 'scope is not supported: the scopes are those of subject_token.')
  }
  return form.subject_token
}

async function mint(dependencies: ExchangeDependencies, subjectToken: string) {
  const { system, environment, accessTokens, rateLimit, lastUses } = dependencies
  const claims = looksSigned(subjectToken) ? await accessTokens.verify(subjectToken) : undefined
  // An exchanged token cannot be exchanged again. Otherwise its holder could get a new token before each expiry,
  // forever.
  const prefixes = (['api_key', 'agent_key'] as const).map((kind) => credentialPrefix(kind, environment))
  if (claims === undefined && !prefixes.some((prefix) => subjectToken.startsWith(prefix))) throw invalidSubjectToken()
  const { credential, stored } = newCredential('exchanged_token', environment, system)
  let counted = false
  const lifetimeMs = await runSettled(dependencies, async (context) => {
    const { realNowMs } = context
    const subject = claims === undefined ? keySubject(context, sha256(subjectToken)) : grantSubject(context, claims)
    const { keyId, agentId, partyId, save } = await subject
    // If the transaction is retried, the request is not counted again.
    if (!counted) refuseTooMany(await rateLimit(keyId))
    counted = true
    lastUses.note({ keyId, agentId, partyId }, context)
    // The new token must not outlive a signed token. A signed token expires by this machine's clock, so its remaining
    // time is computed with this clock.
    const restMs = claims === undefined ? Number.POSITIVE_INFINITY : claims.expiresAtMs - system.now()
    const tokenMs = Math.min(lifetimeSeconds * 1000, restMs)
    await save({ id: newId('xtk', system, realNowMs), secretHash: stored.secretHash, expiresAtMs: realNowMs + tokenMs })
    return tokenMs
  })
  return {
    access_token: credential,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    expires_in: Math.max(1, Math.floor(lifetimeMs / 1000)),
  }
}

/** The identity of a subject token, and a function that saves a new token with this identity. */
interface Subject {
  keyId: string
  partyId: string
  agentId: string | null
  save(token: { id: string; secretHash: string; expiresAtMs: number }): Promise<void>
}

async function keySubject({ tx, nowMs }: SettledContext, secretHash: string): Promise<Subject> {
  const key = await findCredential(tx, { secretHash })
  if (key === undefined || !keyIsValid(key, nowMs)) throw invalidSubjectToken()
  const save: Subject['save'] = (token) =>
    insertAccessToken(tx, { ...token, partyId: key.partyId, credentialId: key.id })
  return { keyId: key.id, agentId: key.agentId, partyId: key.partyId, save }
}

/** Returns the identity of a grant's access token. The new token stops working when the grant ends. */
async function grantSubject({ tx, realNowMs }: SettledContext, claims: AccessTokenClaims): Promise<Subject> {
  const { grantId, scopes } = claims
  const grant = await findGrant(tx, grantId)
  if (grant === undefined || !grantIsLive(grant, realNowMs) || !matchesGrant(claims, grant)) throw invalidSubjectToken()
  const save: Subject['save'] = (token) => insertGrantToken(tx, { ...token, grantId, scopes: scopes.join(' ') })
  return { keyId: grant.id, agentId: grant.agentId, partyId: grant.partyId, save }
}

function refuseTooMany({ failure }: RateLimit): void {
  if (failure === undefined) return
  const headers = { 'Retry-After': String(failure.retryAfterSeconds ?? 1) }
  throw new TokenError('temporarily_unavailable', failure.message, 429, headers)
}

/**
 * Returns the error for a refused subject token. It states no reason, because the caller might not own the token.
 */
function invalidSubjectToken(): TokenError {
  return new TokenError(
    'invalid_grant',
    'subject_token must be a valid key of this environment, or a valid access token.',
  )
}
