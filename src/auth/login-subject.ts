import { decodeJwt } from 'jose'
import type { Login } from './token-store.ts'

/**
 * Returns the subject of a login, which stays the same across renewals and new sign-ins. Returns undefined if the
 * access token names no subject (RFC 9068, section 2.2), or nobody is signed in.
 */
export function subjectOf(login: Pick<Login, 'accessToken'> | undefined): string | undefined {
  try {
    return login && decodeJwt(login.accessToken).sub
  } catch {
    // The token is not a JWT: only its server can read it.
    return undefined
  }
}
