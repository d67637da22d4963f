import { isLoopback } from '../../core/loopback.ts'
import { mcpPath } from '../../core/mcp-path.ts'
import { defaultOAuthScopes, oauthScopes } from '../../core/permissions.ts'

/** RFC 8693 section 2.1. */
export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** RFC 8628 section 3.4. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 6749 section 4.4. */
export const clientCredentialsGrant = 'client_credentials'

/** RFC 7523 section 2.1. */
export const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The JWT profile that `jwtBearerGrant` accepts, under its name in authorization server metadata. */
export const assertionProfile = 'urn:ietf:params:oauth:grant-profile:id-jag'

/** The grant types that the authorization server itself handles. */
export const providerGrants: readonly string[] = [
  'authorization_code',
  'refresh_token',
  deviceGrant,
  clientCredentialsGrant,
  jwtBearerGrant,
]

/** Returns the addresses that identify this service as a resource server (RFC 8707): the API and its MCP endpoint. */
export function audiences(publicUrl: string): readonly [api: string, mcp: string] {
  return [publicUrl, `${publicUrl}/mcp`]
}

/**
 * Returns the audience that a `resource` parameter names; undefined if it is not ours. It accepts a slash at the end,
 * since URL libraries append one to an address without a path. It also accepts every loopback name of a service on this
 * machine.
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

/** Returns the origin that a caller used, if that origin names this service; otherwise the public origin. */
export function loopbackAlias(publicUrl: string, { url }: { url: string }): string {
  const aliasUrl = new URL(publicUrl)
  const { host } = new URL(url)
  if (audienceOf(publicUrl, `${aliasUrl.protocol}//${host}/`) !== undefined) aliasUrl.host = host
  return aliasUrl.origin
}

/** All scopes that a connection can request, in order. */
export const scopesSupported = Object.keys(oauthScopes)

/**
 * Returns the address of a resource's metadata. The well-known path comes between the resource's host and its own path
 * (RFC 9728 section 3.1).
 */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/**
 * Returns the metadata of one of this service's resources (RFC 9728 section 2). Hosts request every listed scope, so
 * the metadata lists only those that a connection starts with (MCP: Scope Selection Strategy). If a tool needs more
 * scopes, the error response to its call names them.
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
