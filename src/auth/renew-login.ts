import { refreshTokenGrant, type TokenEndpointResponse } from 'openid-client'
import { Failure } from '../core/errors.ts'
import { requestToken } from './application-sign-in.ts'
import { openAuthorizationServer } from './authorization-server.ts'
import { oauthErrorCode, oauthFailure } from './oauth-failure.ts'
import type { Fetch } from './resource-metadata.ts'
import { accessTokenOf, type SignInOptions } from './sign-in.ts'
import { isRenewable, type Login, type Logins, signInNeeded } from './token-store.ts'

/**
 * Renews the stored login, unless another process has just renewed it. Returns the access token of the login. A refresh
 * token works only once: a second use revokes the whole grant (OAuth 2.1 section 4.3.1). Therefore, only one process at
 * a time may renew a login.
 */
export async function renewLogin(
  { baseUrl, store, system, fetch }: SignInOptions,
  needsRenewal: (login: Login) => boolean,
): Promise<string> {
  return await store.exclusively(async (stored, write) => {
    const login = stored.logins[baseUrl]
    if (login === undefined) throw signInNeeded(baseUrl, 'Nobody is signed in anymore')
    if (!needsRenewal(login)) return login.accessToken
    const answer = await refresh(login, fetch)
    if (answer.kind === 'ended') {
      await write(withoutLogin(stored, baseUrl, answer.unknownClient ? login.issuer : undefined))
      throw signInNeeded(baseUrl, 'The sign-in has ended or was revoked')
    }
    const refreshToken = answer.tokens.refresh_token ?? login.refreshToken
    const renewed = { ...login, ...accessTokenOf(answer.tokens, system), refreshToken }
    await write({ clients: stored.clients, logins: { ...stored.logins, [baseUrl]: renewed } })
    return renewed.accessToken
  })
}

type Refreshed = { kind: 'tokens'; tokens: TokenEndpointResponse } | { kind: 'ended'; unknownClient: boolean }

async function refresh(login: Login, fetch: Fetch): Promise<Refreshed> {
  const { issuer, clientId, refreshToken, resource, proofFile } = login
  if (!isRenewable(login)) return { kind: 'ended', unknownClient: false }
  try {
    if (proofFile !== undefined) {
      return { kind: 'tokens', tokens: (await requestToken({ ...login, proofFile }, fetch)).tokens }
    }
    const config = await openAuthorizationServer(issuer, clientId, fetch)
    return { kind: 'tokens', tokens: await refreshTokenGrant(config, refreshToken ?? '', { resource }) }
  } catch (error) {
    const code = oauthErrorCode(error)
    if (code === 'invalid_grant' || code === 'invalid_client') {
      return { kind: 'ended', unknownClient: code === 'invalid_client' }
    }
    // Any other failure may be temporary, so the login stays stored.
    const detail = `The sign-in could not be renewed. ${oauthFailure(error, issuer).message}`
    throw new Failure('service_unavailable', { detail })
  }
}

function withoutLogin({ clients, logins }: Logins, baseUrl: string, issuer: string | undefined): Logins {
  const { [baseUrl]: _ended, ...otherLogins } = logins
  if (issuer === undefined) return { clients, logins: otherLogins }
  const { [issuer]: _unknown, ...otherClients } = clients
  return { clients: otherClients, logins: otherLogins }
}
