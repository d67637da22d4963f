import { createLocalJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Store } from '../store/engine/store.ts'
import { lifetimes } from './lifetimes.ts'
import { audiences } from './resources.ts'
import { currentSigningKeys, signingAlgorithm } from './signing-keys.ts'

/** What a valid access token says. Whether its grant still lives is another question, asked with each request. */
export interface AccessTokenClaims {
  grantId: string
  userId: string
  clientId: string
  /** The one of our names that it is for. */
  audience: string
  scopes: readonly string[]
  expiresAtMs: number
}

/** How far another process's clock may be ahead of this one's, seconds. */
const clockTolerance = 5

type KeySet = ReturnType<typeof createLocalJWKSet>

/** The public parts of the keys that tokens may be signed with. */
export async function publishedKeys(store: Store): Promise<{ set: KeySet; kids: string[] }> {
  const current = await currentSigningKeys(store)
  const set = createLocalJWKSet({ keys: current.map(({ d: _, ...publicKey }) => publicKey) })
  return { set, kids: current.map(({ kid }) => kid) }
}

/** The claims of a token that is whole, current and for this service; undefined for any other (RFC 9068 section 4). */
export async function verified(
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
      // No token of this service's is of the future, nor lives longer.
      maxTokenAge: lifetimes.accessToken,
      clockTolerance,
      requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'grant_id'],
    })
    return claimsOf(payload)
  } catch (error) {
    // What jose finds wrong with a token, its form included; anything else is no fault of the token's.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
    throw error
  }
}

/** The audience is one of ours and nothing besides: a token for several services is as good as one of theirs. */
function claimsOf({ aud, exp = 0, sub = '', client_id, grant_id, scope }: JWTPayload): AccessTokenClaims | undefined {
  if (typeof aud !== 'string' || typeof client_id !== 'string' || typeof grant_id !== 'string') return undefined
  const scopes = typeof scope === 'string' ? scope.split(' ') : []
  return { grantId: grant_id, userId: sub, clientId: client_id, audience: aud, scopes, expiresAtMs: exp * 1000 }
}
