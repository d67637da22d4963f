import type { Log } from '../client/client.ts'
import { Failure } from '../core/errors.ts'
import type { SignInOptions } from './sign-in.ts'
import { isRenewable, type Login, signInNeeded } from './token-store.ts'

/** The options for reading and renewing a stored login. The log gets a warning if a renewal fails. */
interface StoredCredentialOptions extends SignInOptions {
  log?: Log | undefined
}

interface StoredCredential {
  /**
   * Returns a valid access token. Renews the login first if its token expires soon. If the person must sign in again,
   * throws a `Failure` that says which command to run.
   */
  (): Promise<string>
  /**
   * Reports that the API refused this token. A later call then renews the login, although its token has not expired.
   */
  refused(accessToken: string): void
}

/**
 * A token is renewed this long before it expires, but not before four fifths of its lifetime have passed. This time is
 * longer than any call, so that no token expires during a call.
 */
const renewAheadMs = 2 * 60_000
/** The pause before the next renewal, after a renewal failed or the API refused a token that was only just obtained. */
const pauseMs = 30_000

/**
 * Creates a credential from the login that `payments-mcp login` stored. Each call of the credential reads the login,
 * and renews it if its token expires soon or was refused.
 */
export function createStoredCredential(options: StoredCredentialOptions): StoredCredential {
  const { baseUrl, store, system, log } = options
  let renewing: Promise<string> | undefined
  let failedAtMs = Number.NEGATIVE_INFINITY
  let refusedToken: string | undefined

  const needsRenewal = (login: Login) => {
    const lifetimeMs = login.expiresAtMs - login.obtainedAtMs
    // A refused token is not renewed while it is still new. Otherwise, an API that refuses all tokens would cause
    // endless renewals.
    if (login.accessToken === refusedToken && system.now() - login.obtainedAtMs >= pauseMs) return true
    const aheadMs = !isRenewable(login) ? 0 : Math.min(renewAheadMs, lifetimeMs / 5)
    return login.expiresAtMs - system.now() <= aheadMs
  }

  const renewNow = async (login: Login) => {
    try {
      const { renewLogin } = await import('./renew-login.ts')
      return await renewLogin(options, needsRenewal)
    } catch (error) {
      if (!(error instanceof Failure) || error.code === 'unauthenticated') throw error
      if (login.expiresAtMs <= system.now()) throw error
      failedAtMs = system.elapsed()
      log?.warn({ err: error }, 'the login could not be renewed yet')
      return login.accessToken
    }
  }

  const credential = async () => {
    const login = (await store.read()).logins[baseUrl]
    if (login === undefined) throw signInNeeded(baseUrl, 'Nobody is signed in')
    const paused = login.expiresAtMs > system.now() && system.elapsed() - failedAtMs < pauseMs
    if (!needsRenewal(login) || paused) return login.accessToken
    renewing ??= renewNow(login).finally(() => {
      renewing = undefined
    })
    return await renewing
  }
  const refuse = (accessToken: string) => {
    refusedToken = accessToken
  }
  return Object.assign(credential, { refused: refuse })
}
