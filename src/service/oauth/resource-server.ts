import { lifetimes } from '../tokens/lifetimes.ts'
import { signingAlgorithm } from '../tokens/signing-keys.ts'

/** Returns the scope, format and lifetime of access tokens for one of this service's audiences. */
export function resourceServer(audience: string, scope: string) {
  return {
    scope,
    audience,
    accessTokenTTL: lifetimes.accessToken,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: signingAlgorithm } },
  } as const
}
