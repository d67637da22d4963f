import type { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Environment } from '../operation.ts'
import { newId, type System, sha256 } from '../system.ts'
import { keyIsValid } from './actor.ts'
import type { LastUses } from './last-use.ts'
import type { RateLimit } from './rate-limit.ts'
import { credentialPrefix, newCredential } from './secrets.ts'
import { insertAccessToken, purgeAccessTokens } from './store/access-tokens.ts'
import { findCredential } from './store/parties.ts'
import { type Store, StoreBusyError } from './store/store.ts'
import { settledNow } from './time.ts'

interface TokenExchange {
  store: Store
  system: System
  environment: Environment
  rateLimit: (keyId: string) => Promise<RateLimit>
  lastUses: LastUses
}

/** How long a token works, in real time (spec: Limits). */
const lifetimeSeconds = 15 * 60
const mostBodyBytes = 16 * 1024
/** More than are made by one request, so that ended tokens never pile up. */
const purged = 20

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
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

/** RFC 8693: a key for a token of the same identity. Whoever holds the key needs no other authentication. */
export function mountTokenExchange(app: Hono, exchange: TokenExchange): void {
  const tooLong = new TokenError('invalid_request', `The body must be at most ${mostBodyBytes} bytes long.`, 413)
  app.post('/oauth/token', bodyLimit({ maxSize: mostBodyBytes, onError: () => refused(tooLong) }), async (c) => {
    try {
      const subjectToken = readRequest(c.req.header('content-type'), await c.req.text())
      return respond(200, await mint(exchange, subjectToken))
    } catch (error) {
      if (error instanceof TokenError) return refused(error)
      if (error instanceof StoreBusyError) {
        return refused(new TokenError('temporarily_unavailable', 'Try again.', 503, { 'Retry-After': '1' }))
      }
      throw error
    }
  })
}

/** The key that the request presents. @throws TokenError for what is no exchange of a key. */
function readRequest(contentType: string | undefined, body: string): string {
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
  if (form.grant_type !== grantType) {
    throw new TokenError('unsupported_grant_type', `grant_type must be ${grantType}.`)
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

async function mint({ store, system, environment, rateLimit, lastUses }: TokenExchange, subjectToken: string) {
  // A token is no key: exchanging it would let it live on without end.
  const prefixes = (['api_key', 'agent_key'] as const).map((kind) => credentialPrefix(kind, environment))
  if (!prefixes.some((prefix) => subjectToken.startsWith(prefix))) throw notAKey()
  const secretHash = sha256(subjectToken)
  const { credential, stored } = newCredential('exchanged_token', environment, system)
  let limit: RateLimit | undefined
  await store.transaction(async (tx) => {
    const nowMs = await settledNow(tx, system)
    const key = await findCredential(tx, { secretHash })
    if (key === undefined || !keyIsValid(key, nowMs)) throw notAKey()
    limit ??= await rateLimit(key.id)
    if (limit.failure !== undefined) {
      const headers = { 'Retry-After': String(limit.failure.retryAfterSeconds ?? 1) }
      throw new TokenError('temporarily_unavailable', limit.failure.message, 429, headers)
    }
    lastUses.note(key.id, key.agentId, nowMs)
    const realNowMs = system.now()
    await purgeAccessTokens(tx, realNowMs, purged)
    await insertAccessToken(tx, {
      id: newId('xtk', system, realNowMs),
      credentialId: key.id,
      secretHash: stored.secretHash,
      expiresAtMs: realNowMs + lifetimeSeconds * 1000,
    })
  })
  return {
    access_token: credential,
    issued_token_type: accessTokenType,
    token_type: 'Bearer',
    expires_in: lifetimeSeconds,
  }
}

/** What is wrong with it is not told: whoever has a key that does not work may not be its owner. */
function notAKey(): TokenError {
  return new TokenError('invalid_grant', 'subject_token must be a key of this environment that works.')
}

function refused({ code, message, status, headers }: TokenError): Response {
  return respond(status, { error: code, error_description: message }, headers)
}

/** RFC 6749 section 5.1: what holds a token is stored nowhere. */
function respond(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  const common = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Pragma: 'no-cache' }
  return new Response(JSON.stringify(body), { status, headers: { ...common, ...headers } })
}
