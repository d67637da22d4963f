import { AuthorizationResponseError, ResponseBodyError } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { maskSecrets } from '../core/masking.ts'

/** Describes a failure at an authorization server, in one line without a token. */
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

/** The errors that a person can act on: RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628 section 3.5. */
const meanings: Readonly<Record<string, string>> = {
  access_denied: 'The person refused the sign-in',
  expired_token: 'The code was not entered in time; run the command again',
  invalid_grant: 'The sign-in is no longer valid; run the command again',
  temporarily_unavailable: 'The sign-in is not available at the moment; try again later',
}

/** Returns the server's error code (RFC 6749 section 5.2); undefined for any other failure. */
export function oauthErrorCode(error: unknown): string | undefined {
  return error instanceof ResponseBodyError ? error.error : undefined
}

/**
 * Returns the most specific description of a failure. The library's own message is general, and its cause is a more
 * specific error, or the response.
 */
function reasonOf({ message, cause }: Error): string {
  if (cause instanceof Error) return cause.message
  const status = typeof cause === 'object' && cause !== null && 'status' in cause ? ` ${cause.status}` : ''
  return `${message}${status}`
}

/** Prepares a text from the server for a terminal: on one line, short, without control characters. */
function printableText(text: string): string {
  return maskSecrets(text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200)).replace(/\.$/, '')
}
