import { createLocalJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Store } from '../store/engine/store.ts'
import { lifetimes } from './lifetimes.ts'
import { audiences } from './resources.ts'
import { currentSigningKeys, signingAlgorithm } from './signing-keys.ts'

/** The claims of a valid access token. Whether the token's grant is still valid is checked separately. */
export interface AccessTokenClaims {
  grantId: string
  userId: string
  clientId: string
  /** The audience: the URL of this service's API or of its MCP endpoint. */
  audience: string
  scopes: readonly string[]
  expiresAtMs: number
}

/** How many seconds another process's clock may be ahead of this process's clock. */
const clockTolerance = 5

type KeySet = ReturnType<typeof createLocalJWKSet>

/** Returns the public keys with which all valid tokens can be verified, and the ids of these keys. */
export async function publishedKeys(store: Store): Promise<{ set: KeySet; kids: string[] }> {
  const current = await currentSigningKeys(store)
  const set = createLocalJWKSet({ keys: current.map(({ d: _, ...publicKey }) => publicKey) })
  return { set, kids: current.map(({ kid }) => kid) }
}

/**
 * Returns the claims of a token that has a valid signature, has not expired and was issued for this service; undefined
 * for any other token (RFC 9068 section 4).
 */
export async function verifiedClaims(
  token: string,
  keysFor: (kid: string | undefined) => Promise<KeySet>,
  publicUrl: string,
): Promise<AccessTokenClaims | undefined> {
  try {
    const { kid } = decodeProtectedHeader(token)
    const { payload } = await jwtVerify(token, await keysFor(kid), {
      algorithms: [signingAlgorithm],
      typ: 'at+jwt',
      issuer: publicUrl,
      audience: [...audiences(publicUrl)],
      // Also rejects tokens whose time of issue is in the future.
      maxTokenAge: lifetimes.accessToken,
      clockTolerance,
      requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'grant_id'],
    })
    return claimsOf(payload)
  } catch (error) {
    // `jose` throws these errors only for an invalid token.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
    throw error
  }
}

/**
 * Returns the claims of a verified token; undefined if the token has several audiences, because each audience could
 * then use the token to call the others.
 */
function claimsOf({ aud, exp = 0, sub = '', client_id, grant_id, scope }: JWTPayload): AccessTokenClaims | undefined {
  if (typeof aud !== 'string' || typeof client_id !== 'string' || typeof grant_id !== 'string') return undefined
  const scopes = typeof scope === 'string' ? scope.split(' ') : []
  return { grantId: grant_id, userId: sub, clientId: client_id, audience: aud, scopes, expiresAtMs: exp * 1000 }
}
