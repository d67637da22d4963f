import { bearerChallenge } from '../../core/bearer.ts'
import { defaultOAuthScopes } from '../../core/permissions.ts'
import { audiences, resourceMetadataUrl } from './resources.ts'

/**
 * The header of a 401 or of a 403 that more scopes would mend (RFC 6750 section 3, RFC 9728 section 5.1).
 * @param scopes Those needed for what was asked, with those that are there already; without it, those to begin with.
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
