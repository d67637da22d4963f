import { decodeJwt } from 'jose'
import type { Login } from './token-store.ts'

/**
 * Who is signed in with a login: the same person after it was renewed, and when they sign in anew. Undefined where the
 * access token does not say (RFC 9068, section 2.2), or nobody is signed in.
 */
export function subjectOf(login: Pick<Login, 'accessToken'> | undefined): string | undefined {
  try {
    return login && decodeJwt(login.accessToken).sub
  } catch {
    // It is no JWT: only its server can read it.
    return undefined
  }
}
