import { bearerChallenge } from '../../core/bearer.ts'
import type { Principal } from './host-context.ts'

/** The data that a host needs to sign in: the address of the protected resource metadata (RFC 9728), and the scopes. */
export interface Challenge {
  resourceMetadata: string
  scope: string
}

/**
 * Returns a 401 response that says how to sign in. If a credential was sent, the response also says that the credential
 * is invalid (RFC 6750, section 3).
 */
export function unauthorized({ resourceMetadata, scope }: Challenge, wasSent: boolean): Response {
  const words = wasSent
    ? 'The access token or key is not valid: it is unknown, expired or revoked. Sign in again or use another key.'
    : 'A credential is required. Sign in with OAuth as WWW-Authenticate describes, or send a key as Authorization: Bearer.'
  const error = wasSent ? 'invalid_token' : 'unauthorized'
  const parameters = { resource_metadata: resourceMetadata, scope, ...(wasSent ? { error } : {}) }
  return challengeResponse(401, error, words, parameters)
}

/** Returns whether the principal's token lacks at least one of the scopes. A key never lacks a scope. */
export function lacksScopes({ scopes }: Principal, needed: readonly string[]): boolean {
  return scopes !== undefined && needed.some((scope) => !scopes.includes(scope))
}

/**
 * Returns a 403 response. It lists all scopes that a new token needs: the present token's scopes and the missing ones.
 */
export function insufficientScope({ resourceMetadata }: Challenge, held: readonly string[], needed: readonly string[]) {
  const scope = [...new Set([...held, ...needed])].join(' ')
  const missing = needed.filter((name) => !held.includes(name)).join(' ')
  const words = `This request needs the scope ${missing}, which the access token lacks. Authorize again with the scopes that WWW-Authenticate lists.`
  return challengeResponse(403, 'insufficient_scope', words, {
    error: 'insufficient_scope',
    scope,
    resource_metadata: resourceMetadata,
  })
}

function challengeResponse(status: number, error: string, words: string, parameters: Record<string, string>) {
  return new Response(JSON.stringify({ error, error_description: words }), {
    status,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'WWW-Authenticate': bearerChallenge(parameters),
    },
  })
}
