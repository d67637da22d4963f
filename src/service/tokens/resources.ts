import { isLoopback } from '../../core/loopback.ts'
import { mcpPath } from '../../core/mcp-path.ts'
import { defaultOAuthScopes, oauthScopes } from '../../core/permissions.ts'

/** The grant type of token exchange (RFC 8693 section 2.1). */
export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The grant type of devices that have no browser (RFC 8628 section 3.4). */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** The grant type of clients that act on their own behalf (RFC 6749 section 4.4). */
export const clientCredentialsGrant = 'client_credentials'

/** The grant type of signed assertions (RFC 7523 section 2.1). */
export const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The only profile of JWT that `jwtBearerGrant` accepts, as it is named in the authorization server's metadata. */
export const assertionProfile = 'urn:ietf:params:oauth:grant-profile:id-jag'

/** The grant types that the OAuth library handles. `token-exchange.ts` handles `tokenExchangeGrant`. */
export const providerGrants: readonly string[] = [
  'authorization_code',
  'refresh_token',
  deviceGrant,
  clientCredentialsGrant,
  jwtBearerGrant,
]

/**
 * Returns the two URLs that identify this service as a resource server (RFC 8707): those of the API and the MCP
 * endpoint.
 */
export function audiences(publicUrl: string): readonly [api: string, mcp: string] {
  return [publicUrl, `${publicUrl}/mcp`]
}

/**
 * Returns the audience of this service that a `resource` parameter identifies; undefined if the parameter identifies
 * anything else. The parameter may end with a slash, because URL libraries append a slash to an address without a path.
 * If this service has a loopback address, the parameter may have any loopback host, such as `localhost` or `127.0.0.1`.
 */
export function audienceOf(publicUrl: string, resource: string): string | undefined {
  const [named, ownUrl] = [URL.parse(resource), new URL(publicUrl)]
  if (named === null || named.search !== '' || named.hash !== '' || named.username !== '') return undefined
  const alias = named.port === ownUrl.port && isLoopback(resource) && isLoopback(publicUrl)
  if (named.protocol !== ownUrl.protocol || (named.host !== ownUrl.host && !alias)) return undefined
  const [api, mcp] = audiences(publicUrl)
  if (named.pathname === '/') return api
  return mcpPath(named.pathname) === undefined ? undefined : mcp
}

/**
 * Returns the public origin. If the request used a different loopback host of this service, the origin has that host.
 */
export function loopbackAlias(publicUrl: string, { url }: { url: string }): string {
  const aliasUrl = new URL(publicUrl)
  const { host } = new URL(url)
  if (audienceOf(publicUrl, `${aliasUrl.protocol}//${host}/`) !== undefined) aliasUrl.host = host
  return aliasUrl.origin
}

/** All scopes that a connection can request. */
export const scopesSupported = Object.keys(oauthScopes)

/**
 * Returns the address of a resource's metadata. The address is the resource's own URL, with the well-known path
 * inserted between host and path (RFC 9728 section 3.1).
 */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/**
 * Returns the metadata of one of this service's resources (RFC 9728 section 2). MCP hosts request every scope that is
 * listed here (the MCP specification's Scope Selection Strategy), so the list has only the scopes that a new connection
 * needs. If a tool needs more scopes, the error response to a call of the tool lists them.
 */
export function resourceMetadata(resource: string, issuer: string): object {
  return {
    resource,
    authorization_servers: [issuer],
    scopes_supported: defaultOAuthScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'payments-mcp',
    resource_documentation: `${issuer}/openapi.json`,
  }
}
