import type { createLocalJWKSet } from 'jose'
import { keepNewest } from '../../core/bounded-map.ts'
import { type System, sha256 } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import type { AccessTokenClaims } from './signed-tokens.ts'

export interface AccessTokens {
  /**
   * Returns a token's claims; undefined if the token was not issued by this service, was altered, has expired or is
   * meant for a different service.
   */
  verify(token: string): Promise<AccessTokenClaims | undefined>
}

interface Dependencies {
  store: Store
  system: System
  publicUrl: () => string
}

/** The maximum number of verified tokens in memory. If there are more, the token that was added first is removed. */
const maxVerified = 10_000
/** How long keys are used before they are loaded again. Loading also finds keys that other processes created. */
const keysLifetimeMs = 60_000

/**
 * Creates a verifier of JWT access tokens (RFC 9068). A token's signature is checked only at its first use; its expiry
 * is checked at each use. The JWT library is loaded when the first token arrives.
 */
export function createAccessTokens({ store, system, publicUrl }: Dependencies): AccessTokens {
  const claimsByToken = new Map<string, AccessTokenClaims>()
  let keys: { set: ReturnType<typeof createLocalJWKSet>; kids: readonly string[]; readAtMs: number } | undefined
  const keysFor = async (kid: string | undefined) => {
    const nowMs = system.now()
    // An unknown key id (`kid`) may belong to a new key, so the keys are loaded again, but at most once per second.
    const stale = keys === undefined || nowMs - keys.readAtMs > (kid && keys.kids.includes(kid) ? keysLifetimeMs : 1000)
    if (keys !== undefined && !stale) return keys.set
    const { publishedKeys } = await import('./signed-tokens.ts')
    keys = { ...(await publishedKeys(store)), readAtMs: nowMs }
    return keys.set
  }
  return {
    async verify(token) {
      const hash = sha256(token)
      const seen = claimsByToken.get(hash)
      if (seen !== undefined) {
        if (system.now() < seen.expiresAtMs) return seen
        claimsByToken.delete(hash)
        return undefined
      }
      const { verifiedClaims: verified } = await import('./signed-tokens.ts')
      const claims = await verified(token, keysFor, publicUrl())
      // Because clocks may differ, `verified` accepts a token for a few seconds after its expiry. This check does not.
      if (claims === undefined || system.now() >= claims.expiresAtMs) return undefined
      keepNewest(claimsByToken, hash, claims, maxVerified)
      return claims
    },
  }
}

/**
 * Returns whether a credential has the form of a signed token. Unlike API keys and agent keys, signed tokens contain
 * dots.
 */
export function looksSigned(credential: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential)
}

/** Returns whether a token's user and application are the user and application of the grant. */
export function matchesGrant(claims: AccessTokenClaims, grant: { userId: string; clientId: string }): boolean {
  return claims.userId === grant.userId && claims.clientId === grant.clientId
}
