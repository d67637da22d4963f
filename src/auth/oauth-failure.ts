import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { maskSecrets } from '../core/masking.ts'

/**
 * Returns the `Failure` for an error of a request to an authorization server. Its message is one line and contains no
 * token.
 */
export function oauthFailure(error: unknown, issuer: string): Failure {
  const { host } = new URL(issuer)
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof Failure) return cause
    if (cause instanceof ResponseBodyError || cause instanceof AuthorizationResponseError) {
      const description = cause.error_description === undefined ? '' : ` (${printableText(cause.error_description)})`
      const meaning = meanings[cause.error] ?? `${host} refused the sign-in`
      return new Failure('unauthenticated', { detail: `${meaning}: ${printableText(cause.error)}${description}.` })
    }
  }
  const reason = error instanceof Error ? printableText(reasonOf(error)) : 'the reason is unknown'
  return new Failure('bad_gateway', { detail: `${host} did not answer as an authorization server does: ${reason}.` })
}

/** Messages for the errors that a person can act on (RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628 section 3.5). */
const meanings: Readonly<Record<string, string>> = {
  access_denied: 'The person refused the sign-in',
  expired_token: 'Run the command again, because the code was not entered in time',
  invalid_grant: 'Run the command again, because the sign-in is no longer valid',
  temporarily_unavailable: 'Try again later, because nobody can sign in at the moment',
}

/** Returns the error code in the body of the server's answer (RFC 6749 section 5.2); undefined if there is none. */
export function oauthErrorCode(error: unknown): string | undefined {
  return error instanceof ResponseBodyError ? error.error : undefined
}

/**
 * Returns the most specific description of an error. The message of an openid-client error is general; the error's
 * `cause` is a more specific error, or the HTTP response.
 */
function reasonOf({ message, cause }: Error): string {
  if (cause instanceof Error) return cause.message
  const status = typeof cause === 'object' && cause !== null && 'status' in cause ? ` ${cause.status}` : ''
  return `${message}${status}`
}

/** Prepares a string from the server for a terminal: one short line without control characters or secrets. */
function printableText(text: string): string {
  return maskSecrets(text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200)).replace(/\.$/, '')
}
