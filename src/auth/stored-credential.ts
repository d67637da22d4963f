import type { Log } from '../client/client.ts'
import { Failure } from '../core/errors.ts'
import type { SignInOptions } from './sign-in.ts'
import { type Login, signInNeeded } from './token-store.ts'

/** The options of the sign-in that stored the login. */
interface StoredCredentialOptions extends SignInOptions {
  log?: Log | undefined
}

interface StoredCredential {
  /**
   * Returns an access token that stays valid for a while. If there is none, throws a `Failure` that names the command
   * to run.
   */
  (): Promise<string>
  /** Reports that the API refused this token. The next call requests another without waiting for its expiry. */
  refused(accessToken: string): void
}

/** How long before its expiry a token is renewed. A call takes less time, so its token stays valid until the end. */
const renewAheadMs = 2 * 60_000
/** The pause after a failed renewal, during which a still valid token is used. */
const pauseMs = 30_000

/**
 * Creates a credential from the login that `payments-mcp login` stored. Each call reads the login, and renews it if it
 * expires soon.
 */
export function createStoredCredential(options: StoredCredentialOptions): StoredCredential {
  const { baseUrl, store, system, log } = options
  let renewing: Promise<string> | undefined
  let failedAtMs = Number.NEGATIVE_INFINITY
  let refusedToken: string | undefined

  const needsRenewal = (login: Login) => {
    const lifetimeMs = login.expiresAtMs - login.obtainedAtMs
    // A new token is not renewed again at once: an API that refuses all tokens would cause endless renewals.
    if (login.accessToken === refusedToken && system.now() - login.obtainedAtMs >= pauseMs) return true
    const renewable = login.refreshToken !== null || login.proofFile !== undefined
    const aheadMs = !renewable ? 0 : Math.min(renewAheadMs, lifetimeMs / 5)
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
