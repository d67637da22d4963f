import { bearerChallenge } from '../../core/bearer.ts'
import { defaultOAuthScopes } from '../../core/permissions.ts'
import { audiences, resourceMetadataUrl } from './resources.ts'

/**
 * Returns the WWW-Authenticate header of a 401 response, or of a 403 response to a request that lacks scopes (RFC 6750
 * section 3, RFC 9728 section 5.1).
 * @param scopes The scopes for the client to request: the scopes that the client already has, and the scopes that its
 * request needs. The default is the scopes of a new connection.
 */
export function challenge(
  publicUrl: string,
  error?: 'invalid_token' | 'insufficient_scope',
  scopes: readonly string[] = defaultOAuthScopes,
): string {
  const [api] = audiences(publicUrl)
  const parameters = { ...(error && { error }), scope: scopes.join(' '), resource_metadata: resourceMetadataUrl(api) }
  return bearerChallenge(parameters)
}
