import type { createLocalJWKSet } from 'jose'
import { keepNewest } from '../../core/bounded-map.ts'
import { type System, sha256 } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import type { AccessTokenClaims } from './signed-tokens.ts'

export interface AccessTokens {
  /** The claims of a token of this service's that is whole, current and for this service; undefined for any other. */
  verify(token: string): Promise<AccessTokenClaims | undefined>
}

interface Dependencies {
  store: Store
  system: System
  publicUrl: () => string
}

/** Bounds what is kept of tokens that were seen; the one seen the longest ago goes first. */
const mostKnown = 10_000
/** Asking for the keys again is how a key that another process made is learnt of. */
const keysForMs = 60_000

/**
 * Verifies JWT access tokens (RFC 9068). A signature is checked once; the token's end each time. What that takes is
 * loaded by the first token.
 */
export function createAccessTokens({ store, system, publicUrl }: Dependencies): AccessTokens {
  const known = new Map<string, AccessTokenClaims>()
  let keys: { set: ReturnType<typeof createLocalJWKSet>; kids: readonly string[]; readAtMs: number } | undefined
  const keysFor = async (kid: string | undefined) => {
    const nowMs = system.now()
    // A kid that nobody knows must not make every request read the keys.
    const stale = keys === undefined || nowMs - keys.readAtMs > (kid && keys.kids.includes(kid) ? keysForMs : 1000)
    if (keys !== undefined && !stale) return keys.set
    const { publishedKeys } = await import('./signed-tokens.ts')
    keys = { ...(await publishedKeys(store)), readAtMs: nowMs }
    return keys.set
  }
  return {
    async verify(token) {
      const hash = sha256(token)
      const seen = known.get(hash)
      if (seen !== undefined) {
        if (system.now() < seen.expiresAtMs) return seen
        known.delete(hash)
        return undefined
      }
      const { verified } = await import('./signed-tokens.ts')
      const claims = await verified(token, keysFor, publicUrl())
      // The tolerance for clocks is for a token's beginning, not for its end.
      if (claims === undefined || system.now() >= claims.expiresAtMs) return undefined
      keepNewest(known, hash, claims, mostKnown)
      return claims
    },
  }
}

/** Whether a credential has the form of a signed token; keys have none of its dots. */
export function looksSigned(credential: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential)
}

/** Whether a token speaks for the user and the application that the grant which it names is of. */
export function isOfGrant(claims: AccessTokenClaims, grant: { userId: string; clientId: string }): boolean {
  return claims.userId === grant.userId && claims.clientId === grant.clientId
}
