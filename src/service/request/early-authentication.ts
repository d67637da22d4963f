import { bearerOf } from '../../core/bearer.ts'
import type { Environment } from '../../core/operation.ts'
import type { System } from '../../core/system.ts'
import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { type AccessTokens, looksSigned } from '../tokens/access-tokens.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'
import { authenticate, type LocalCredentials } from './authentication.ts'
import type { Actor } from './permission-checks.ts'

export interface AuthenticationDependencies {
  store: Store
  system: System
  environment: Environment
  localCredentials: LocalCredentials
  accessTokens: AccessTokens
}

/**
 * Verifies a signed token and returns its claims. It is called before the transaction begins, so that no other request
 * has to wait for the signature check.
 */
export async function verifyToken(
  { accessTokens }: Pick<AuthenticationDependencies, 'accessTokens'>,
  authorization: string | null,
): Promise<AccessTokenClaims | undefined> {
  const credential = bearerOf(authorization)
  return credential !== undefined && looksSigned(credential) ? accessTokens.verify(credential) : undefined
}

/**
 * Returns the identity that a credential acts as. It is for callers without a transaction, and reads committed data.
 * @throws 401 `unauthenticated` if a request with this credential would be refused.
 */
export async function authenticateEarly(
  { store, environment, localCredentials, accessTokens }: AuthenticationDependencies,
  authorization: string | null,
): Promise<Actor> {
  const claims = await verifyToken({ accessTokens }, authorization)
  return store.read(async (tx) => {
    const times = readTimes(tx)
    // A request without a credential is refused before anything awaits `times`. Without this line, a failure to read
    // the times would then be an unhandled rejection.
    times.catch(() => {})
    return authenticate(tx, authorization, { environment, local: localCredentials, times, claims })
  })
}
