import { decodeJwt } from 'jose'
import type { Login } from './token-store.ts'

/**
 * Returns the subject of a login: the `sub` claim of its access token (RFC 9068 section 2.2). The subject stays the
 * same across renewals and new sign-ins. Returns undefined if nobody is signed in, or if the token has no such claim.
 */
export function subjectOf(login: Pick<Login, 'accessToken'> | undefined): string | undefined {
  try {
    return login && decodeJwt(login.accessToken).sub
  } catch {
    // The token is not a JWT, so only the authorization server can read it.
    return undefined
  }
}
