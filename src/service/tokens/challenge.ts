import { bearerChallenge } from '../../core/bearer.ts'
import { defaultOAuthScopes } from '../../core/permissions.ts'
import { audiences, resourceMetadataUrl } from './resources.ts'

/**
 * Returns the header WWW-Authenticate for a 401, or for a 403 that more scopes would resolve (RFC 6750 section 3, RFC
 * 9728 section 5.1).
 * @param scopes The scopes needed for the request together with the scopes already granted; by default, the scopes of a
 * new connection.
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
