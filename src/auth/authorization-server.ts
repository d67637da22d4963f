import {
  allowInsecureRequests,
  type ClientAuth,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  dynamicClientRegistration,
  None,
  tokenRevocation,
} from 'openid-client'
import { parseBaseUrl } from '../config/values.ts'
import { Failure, show } from '../core/errors.ts'
import { oauthErrorCode, oauthFailure } from './oauth-failure.ts'
import type { Fetch } from './resource-metadata.ts'

export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/**
 * Reads and checks the authorization server's metadata (RFC 8414). Returns a configuration for requests to this server.
 */
export async function openAuthorizationServer(
  issuer: string,
  clientId: string,
  fetch: Fetch,
  authentication: ClientAuth = None(),
): Promise<Configuration> {
  return await reachServer(issuer, async () => {
    const config = await discovery(new URL(issuer), clientId, undefined, authentication, requestOptions(issuer, fetch))
    refuseUnsafe(config, issuer)
    if (config.serverMetadata().supportsPKCE('S256')) return config
    const detail = `${new URL(issuer).host} must support PKCE with S256, but its metadata does not list it.`
    throw new Failure('bad_gateway', { detail })
  })
}

/** Returns the token endpoint of a company's identity provider (OpenID Connect Discovery 1.0). */
export async function findTokenEndpoint(idp: string, clientId: string, fetch: Fetch): Promise<string> {
  if (parseBaseUrl(idp) === undefined) {
    const detail = `The identity provider ${show(idp)} must use https, or http on a loopback host.`
    throw new Failure('bad_gateway', { detail })
  }
  return await reachServer(idp, async () => {
    const options = { ...requestOptions(idp, fetch), algorithm: 'oidc' as const }
    const config = await discovery(new URL(idp), clientId, undefined, None(), options)
    refuseUnsafe(config, idp)
    const { token_endpoint: endpoint } = config.serverMetadata()
    if (endpoint !== undefined) return endpoint
    throw new Failure('bad_gateway', { detail: `The metadata of ${new URL(idp).host} has no token_endpoint.` })
  })
}

/**
 * Returns client authentication that sends a secret in the Authorization header (RFC 6749 section 2.3.1). Some servers
 * do not decode this header. Therefore, only the characters that must be encoded are encoded, unlike in
 * `ClientSecretBasic` of openid-client.
 */
export function secretBasic(secret: string): ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ text }).toString().slice('text='.length)
  return (_server, { client_id }, _body, headers) =>
    headers.set('authorization', `Basic ${btoa(`${encoded(client_id)}:${encoded(secret)}`)}`)
}

/**
 * Registers this program at the authorization server (RFC 7591), as a client without a secret. Returns a configuration
 * for requests to the server.
 */
export async function registerClient(issuer: string, fetch: Fetch): Promise<Configuration> {
  const found = (await openAuthorizationServer(issuer, 'not-registered', fetch)).serverMetadata()
  if (found.registration_endpoint === undefined) {
    const detail = `${new URL(issuer).host} does not register clients: use a key (PAYMENTS_KEY).`
    throw new Failure('not_implemented', { detail })
  }
  const grants = ['authorization_code', 'refresh_token']
  if (found.device_authorization_endpoint !== undefined) grants.push(deviceGrant)
  const metadata = {
    client_name: 'payments-mcp',
    application_type: 'native',
    // The port is left out: servers accept any port here (RFC 8252 section 7.3), and each sign-in chooses one.
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: grants,
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  const { client_id } = await reachServer(issuer, async () =>
    (
      await dynamicClientRegistration(new URL(issuer), metadata, None(), requestOptions(issuer, fetch))
    ).clientMetadata(),
  )
  return await openAuthorizationServer(issuer, client_id, fetch)
}

/**
 * Returns whether the authorization server still knows the client. To find out, asks it to revoke a token that does not
 * exist: the request succeeds if the client is known (RFC 7009 section 2.2). Without this check, the browser could show
 * the person an error page.
 */
export async function knowsClient(config: Configuration): Promise<boolean> {
  const { issuer, revocation_endpoint } = config.serverMetadata()
  if (revocation_endpoint === undefined) return true
  try {
    await tokenRevocation(config, 'none')
    return true
  } catch (error) {
    if (oauthErrorCode(error) === 'invalid_client') return false
    throw oauthFailure(error, issuer)
  }
}

/** Runs `work`, which sends requests to the server. Converts any error to a `Failure` with a message of one line. */
export async function reachServer<T>(issuer: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw oauthFailure(error, issuer)
  }
}

function requestOptions(issuer: string, fetch: Fetch) {
  // Callers have already refused http issuers that are not on a loopback host.
  const execute = issuer.startsWith('http:') ? [allowInsecureRequests] : []
  const throughFetch: CustomFetch = async (url, options) => {
    try {
      return await fetch(new Request(url, options as RequestInit))
    } catch (cause) {
      throw new Failure('service_unavailable', { detail: `Can't reach ${new URL(url).host}: ${networkReason(cause)}.` })
    }
  }
  return { algorithm: 'oauth2' as const, timeout: 15, execute, [customFetch]: throughFetch }
}

function networkReason(error: unknown): string {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if ('code' in cause && typeof cause.code === 'string') return `the connection failed (${cause.code})`
    if (cause.name === 'TimeoutError') return 'no answer came in time'
  }
  return 'the connection failed'
}

/**
 * Refuses metadata that states a different issuer. Also refuses endpoints that would receive codes and tokens
 * unencrypted over a network: they must use https, or http on a loopback host.
 */
function refuseUnsafe(config: Configuration, issuer: string): void {
  const metadata = config.serverMetadata()
  const { host } = new URL(issuer)
  if (metadata.issuer !== issuer) {
    const detail = `The metadata of ${show(issuer)} states a different issuer, ${show(metadata.issuer)}. Sign-in was stopped.`
    throw new Failure('bad_gateway', { detail })
  }
  for (const [name, address] of Object.entries(metadata)) {
    if (!name.endsWith('_endpoint') || typeof address !== 'string') continue
    if (parseBaseUrl(address.replace(/\?.*$/, '')) === undefined) {
      throw new Failure('bad_gateway', { detail: `The ${name} of ${host} is ${show(address)}, which is not https.` })
    }
  }
}
