import type { Environment } from '../../core/operation.ts'
import { newId, type System, sha256 } from '../../core/system.ts'
import { keyIsValid } from '../request/authenticate.ts'
import { settledTimes } from '../request/due.ts'
import type { LastUses } from '../request/last-use.ts'
import type { RateLimit } from '../request/rate-limit.ts'
import { insertAccessToken, insertGrantToken, purgeTokens } from '../store/access-tokens.ts'
import type { Times } from '../store/clock.ts'
import { findCredential } from '../store/credentials.ts'
import { type Store, StoreBusyError, type Transaction } from '../store/engine/store.ts'
import { findGrant, grantIsLive } from '../store/oauth-grants.ts'
import { type AccessTokens, isOfGrant, looksSigned } from '../tokens/access-tokens.ts'
import { signInGrants, tokenExchangeGrant } from '../tokens/resources.ts'
import { credentialPrefix, newCredential } from '../tokens/secrets.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'

export interface TokenExchange {
  store: Store
  system: System
  environment: Environment
  rateLimit: (keyId: string) => Promise<RateLimit>
  lastUses: LastUses
  accessTokens: AccessTokens
}

/** How long a token works, in real time (docs/service.md#short-lived-tokens). */
const lifetimeSeconds = 15 * 60
/** More than are made by one request, so that ended tokens never pile up. */
const purged = 20

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

/** What a token request may hold; each at most once (RFC 6749 section 3.2). Others are ignored, as it asks. */
const known = [
  'grant_type',
  'subject_token',
  'subject_token_type',
  'requested_token_type',
  'actor_token',
  'actor_token_type',
  'scope',
] as const
type Form = Partial<Record<(typeof known)[number], string>>

/** An error of RFC 6749 section 5.2; `temporarily_unavailable` is of section 4.1.2.1, as nothing there says "later". */
class TokenError extends Error {
  readonly code: string
  readonly status: 400 | 413 | 429 | 503
  readonly headers: Readonly<Record<string, string>>

  constructor(code: string, description: string, status: TokenError['status'] = 400, headers = {}) {
    super(description)
    this.code = code
    this.status = status
    this.headers = headers
  }
}

/**
 * RFC 8693: a key, or an access token of a grant, for a short-lived token of the same identity. Whoever holds the
 * subject token needs no other authentication. Undefined: the request is for another grant type.
 */
export async function exchangeToken(
  exchange: TokenExchange,
  contentType: string | undefined,
  body: string,
): Promise<Response | undefined> {
  try {
    const subjectToken = readRequest(contentType, body)
    return subjectToken === undefined ? undefined : respond(200, await mint(exchange, subjectToken))
  } catch (error) {
    if (error instanceof TokenError) return refused(error)
    if (error instanceof StoreBusyError) {
      return refused(new TokenError('temporarily_unavailable', 'Try again.', 503, { 'Retry-After': '1' }))
    }
    throw error
  }
}

/** What the request presents; undefined where it is no exchange. @throws TokenError for an exchange that is not right. */
function readRequest(contentType: string | undefined, body: string): string | undefined {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType ?? '')) {
    throw new TokenError('invalid_request', 'The body must be application/x-www-form-urlencoded.')
  }
  const parameters = new URLSearchParams(body)
  const form: Form = {}
  for (const name of known) {
    const values = parameters.getAll(name)
    if (values.length > 1) throw new TokenError('invalid_request', `${name} is given more than once.`)
    // One without a value is as if it were left out (RFC 6749 section 3.2).
    if (values[0]) form[name] = values[0]
  }
  if (form.grant_type === undefined) throw new TokenError('invalid_request', 'grant_type is missing.')
  if (signInGrants.includes(form.grant_type)) return undefined
  if (form.grant_type !== tokenExchangeGrant) {
    throw new TokenError(
      'unsupported_grant_type',
      `grant_type must be ${[tokenExchangeGrant, ...signInGrants].join(', ')}.`,
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
    throw new TokenError('invalid_request', 'A token is of the identity of its key: actor_token is not supported.')
  }
  // Ignoring it would hand out more than was asked for.
  if (form.scope !== undefined) {
    throw new TokenError('invalid_request', 'A token has the scopes of its key: scope is not supported.')
  }
  return form.subject_token
}

async function mint(exchange: TokenExchange, subjectToken: string) {
  const { store, system, environment, accessTokens } = exchange
  const claims = looksSigned(subjectToken) ? await accessTokens.verify(subjectToken) : undefined
  // A token that was exchanged is no subject: exchanging it again would let it live on without end.
  const prefixes = (['api_key', 'agent_key'] as const).map((kind) => credentialPrefix(kind, environment))
  if (claims === undefined && !prefixes.some((prefix) => subjectToken.startsWith(prefix))) throw notASubject()
  const { credential, stored } = newCredential('exchanged_token', environment, system)
  let counted = false
  const lifetimeMs = await store.transaction(async (tx) => {
    const times = await settledTimes(tx, system)
    // The end of a signed token is by the clock of this machine, which judges it.
    const restMs = claims === undefined ? Number.POSITIVE_INFINITY : claims.expiresAtMs - system.now()
    const tokenMs = Math.min(lifetimeSeconds * 1000, restMs)
    const ending = { secretHash: stored.secretHash, expiresAtMs: times.realNowMs + tokenMs }
    const count = async (keyId: string) => {
      if (!counted) await refuseTooMany(exchange, keyId)
      counted = true
    }
    if (claims === undefined) await mintFromKey(exchange, tx, sha256(subjectToken), { ...ending, times }, count)
    else await mintFromGrant(exchange, tx, claims, { ...ending, times }, count)
    return tokenMs
  })
  return {
    access_token: credential,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    expires_in: Math.max(1, Math.floor(lifetimeMs / 1000)),
  }
}

interface Ending {
  secretHash: string
  expiresAtMs: number
  times: Times
}

type Count = (keyId: string) => Promise<void>

async function mintFromKey(
  { system, lastUses }: TokenExchange,
  tx: Transaction,
  secretHash: string,
  { times: { nowMs, realNowMs }, ...ending }: Ending,
  count: Count,
): Promise<void> {
  const key = await findCredential(tx, { secretHash })
  if (key === undefined || !keyIsValid(key, nowMs)) throw notASubject()
  await count(key.id)
  lastUses.note(key.id, key.agentId, nowMs)
  await purgeTokens(tx, 'accessTokens', realNowMs, purged)
  await insertAccessToken(tx, { id: newId('xtk', system, realNowMs), credentialId: key.id, ...ending })
}

/** The token never outlives the one it is made from, nor its grant. */
async function mintFromGrant(
  { system, lastUses }: TokenExchange,
  tx: Transaction,
  claims: AccessTokenClaims,
  { times: { nowMs, realNowMs }, ...ending }: Ending,
  count: Count,
): Promise<void> {
  const { grantId, scopes } = claims
  const grant = await findGrant(tx, grantId)
  if (grant === undefined || !grantIsLive(grant, realNowMs) || !isOfGrant(claims, grant)) throw notASubject()
  await count(grant.id)
  lastUses.note(grant.id, grant.agentId, nowMs)
  await purgeTokens(tx, 'grantTokens', realNowMs, purged)
  await insertGrantToken(tx, { id: newId('xtk', system, realNowMs), grantId, scopes: scopes.join(' '), ...ending })
}

async function refuseTooMany({ rateLimit }: TokenExchange, keyId: string): Promise<void> {
  const { failure } = await rateLimit(keyId)
  if (failure === undefined) return
  const headers = { 'Retry-After': String(failure.retryAfterSeconds ?? 1) }
  throw new TokenError('temporarily_unavailable', failure.message, 429, headers)
}

/** What is wrong with it is not told: whoever has a key that does not work may not be its owner. */
function notASubject(): TokenError {
  return new TokenError(
    'invalid_grant',
    'subject_token must be a key of this environment, or an access token, that works.',
  )
}

function refused({ code, message, status, headers }: TokenError): Response {
  return respond(status, { error: code, error_description: message }, headers)
}

/** RFC 6749 section 5.1: what holds a token is stored nowhere. */
function respond(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  const common = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Pragma: 'no-cache' }
  return new Response(JSON.stringify(body), { status, headers: { ...common, ...headers } })
}
