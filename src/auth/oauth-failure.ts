import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { maskSecrets } from '../core/masking.ts'

/** What went wrong with an authorization server, in one line that holds no token. */
export function oauthFailure(error: unknown, issuer: string): Failure {
  const { host } = new URL(issuer)
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof Failure) return cause
    if (cause instanceof ResponseBodyError || cause instanceof AuthorizationResponseError) {
      const description = cause.error_description === undefined ? '' : ` (${printable(cause.error_description)})`
      const meaning = meanings[cause.error] ?? `${host} refused the sign-in`
      return new Failure('unauthenticated', { detail: `${meaning}: ${printable(cause.error)}${description}.` })
    }
  }
  const reason = error instanceof Error ? printable(told(error)) : 'it is not known why'
  return new Failure('bad_gateway', { detail: `${host} did not answer as an authorization server does: ${reason}.` })
}

/** RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628 section 3.5: those that a person can do something about. */
const meanings: Readonly<Record<string, string>> = {
  access_denied: 'The sign-in was refused by the person asked',
  expired_token: 'The code was not entered in time; run the command again',
  invalid_grant: 'The sign-in was not valid any more; run the command again',
  temporarily_unavailable: 'The sign-in is not available at the moment; try again later',
}

/** The error code of RFC 6749 section 5.2 that the server answered; undefined for any other failure. */
export function oauthErrorCode(error: unknown): string | undefined {
  return error instanceof ResponseBodyError ? error.error : undefined
}

/** The library wraps what it found in general words: an error that says more, or the response itself. */
function told({ message, cause }: Error): string {
  if (cause instanceof Error) return cause.message
  const status = typeof cause === 'object' && cause !== null && 'status' in cause ? ` ${cause.status}` : ''
  return `${message}${status}`
}

/** A text of the server for a terminal: on one line, short, no control characters. */
function printable(text: string): string {
  return maskSecrets(text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200)).replace(/\.$/, '')
}
