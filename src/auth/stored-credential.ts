import type { Log } from '../client/client.ts'
import { Failure } from '../core/errors.ts'
import type { SignInOptions } from './sign-in.ts'
import { type Login, signInNeeded } from './token-store.ts'

/** The options of the sign-in whose login is used. */
interface StoredCredentialOptions extends SignInOptions {
  log?: Log | undefined
}

interface StoredCredential {
  /** An access token that is good for some time yet. Throws `Failure` that says what to run where there is none. */
  (): Promise<string>
  /** The API refused this token: the next call asks for another instead of waiting for its end. */
  refused(accessToken: string): void
}

/** A call takes less: a token with this much left serves it to its end. */
const renewedBeforeEndMs = 2 * 60_000
/** After a failure, the token that is still good is used for so long without another try. */
const pauseMs = 30_000

/** The credential that `payments-mcp login` stored, read anew by each call and renewed ahead of time. */
export function createStoredCredential(options: StoredCredentialOptions): StoredCredential {
  const { baseUrl, store, system, log } = options
  let renewing: Promise<string> | undefined
  let failedAtMs = Number.NEGATIVE_INFINITY
  let refused: string | undefined

  const isDue = (login: Login) => {
    const lifetimeMs = login.expiresAtMs - login.obtainedAtMs
    // One that was just made is not made anew, or an API that refuses all tokens would have them made without end.
    if (login.accessToken === refused && system.now() - login.obtainedAtMs >= pauseMs) return true
    const aheadMs = login.refreshToken === null ? 0 : Math.min(renewedBeforeEndMs, lifetimeMs / 5)
    return login.expiresAtMs - system.now() <= aheadMs
  }

  const renewNow = async (login: Login) => {
    try {
      const { renewLogin } = await import('./renew-login.ts')
      return await renewLogin(options, isDue)
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
    if (!isDue(login) || paused) return login.accessToken
    renewing ??= renewNow(login).finally(() => {
      renewing = undefined
    })
    return await renewing
  }
  const refuse = (accessToken: string) => {
    refused = accessToken
  }
  return Object.assign(credential, { refused: refuse })
}
