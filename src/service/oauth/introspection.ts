import { Failure, fail } from '../../core/errors.ts'
import type { Environment } from '../../core/operation.ts'
import { authenticate } from '../request/authentication.ts'
import { type Dependencies, runSettled } from '../request/settled-transaction.ts'
import { findGrant, grantIsLive } from '../store/oauth-grants.ts'
import { type AccessTokens, looksSigned, matchesGrant } from '../tokens/access-tokens.ts'
import { errorAnswer, jsonAnswer } from './json-answers.ts'

interface IntrospectionDependencies extends Dependencies {
  environment: Environment
  accessTokens: AccessTokens
  publicUrl: () => string
}

/**
 * Tells a resource server whether a signed access token still works (RFC 7662). The resource server authenticates with
 * an API key of the party that the token acts for. If the token is unsigned, returns undefined, and oidc-provider then
 * handles the request.
 */
export async function introspect(
  dependencies: IntrospectionDependencies,
  authorization: string | undefined,
  body: string,
): Promise<Response | undefined> {
  const token = new URLSearchParams(body).get('token') ?? ''
  if (!looksSigned(token)) return undefined
  const { environment, accessTokens, publicUrl } = dependencies
  const claims = await accessTokens.verify(token)
  return runSettled(dependencies, async ({ tx, nowMs, realNowMs }) => {
    const times = Promise.resolve({ nowMs, realNowMs })
    const authority = { environment, local: new Map(), times, claims: undefined }
    let partyId: string
    try {
      const caller = await authenticate(tx, authorization ?? null, authority)
      if (caller.credentialKind !== 'api_key') fail('unauthenticated')
      partyId = caller.partyId
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const headers = { 'WWW-Authenticate': 'Bearer' }
      return errorAnswer(401, 'invalid_client', 'Send an API key as the bearer token.', headers)
    }
    const grant = claims && (await findGrant(tx, claims.grantId))
    if (claims === undefined || grant?.partyId !== partyId) return jsonAnswer(200, { active: false })
    if (!grantIsLive(grant, realNowMs) || !matchesGrant(claims, grant)) return jsonAnswer(200, { active: false })
    const { userId, clientId, agentId } = grant
    const scope = grant.scopes
      .split(' ')
      .filter((name) => claims.scopes.includes(name))
      .join(' ')
    return jsonAnswer(200, {
      active: true,
      token_type: 'Bearer',
      iss: publicUrl(),
      aud: claims.audience,
      sub: userId,
      client_id: clientId,
      scope,
      exp: Math.floor(claims.expiresAtMs / 1000),
      grant_id: grant.id,
      ...(agentId === null ? {} : { agent_id: agentId }),
    })
  })
}
