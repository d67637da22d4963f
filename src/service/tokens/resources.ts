import { isLoopback } from '../../core/loopback.ts'
import { mcpPath } from '../../core/mcp-path.ts'
import { defaultOAuthScopes, oauthScopes } from '../../core/permissions.ts'

/** RFC 8693 section 2.1. */
export const tokenExchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** RFC 8628 section 3.4. */
export const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** The grants of applications that people sign in to. */
export const signInGrants: readonly string[] = ['authorization_code', 'refresh_token', deviceGrant]

/** The names of this service as a resource server (RFC 8707): the API, and its MCP endpoint. */
export function audiences(publicUrl: string): readonly [api: string, mcp: string] {
  return [publicUrl, `${publicUrl}/mcp`]
}

/**
 * The audience that a `resource` parameter names; undefined when it is none of ours. URL libraries end an address
 * without a path in a slash, and a service on this machine has several names.
 */
export function audienceOf(publicUrl: string, resource: string): string | undefined {
  const [named, own] = [URL.parse(resource), new URL(publicUrl)]
  if (named === null || named.search !== '' || named.hash !== '' || named.username !== '') return undefined
  const alias = named.port === own.port && isLoopback(resource) && isLoopback(publicUrl)
  if (named.protocol !== own.protocol || (named.host !== own.host && !alias)) return undefined
  const [api, mcp] = audiences(publicUrl)
  if (named.pathname === '/') return api
  return mcpPath(named.pathname) === undefined ? undefined : mcp
}

/** The origin that a caller used for this service, where it is one of its names; else the public one. */
export function loopbackAlias(publicUrl: string, { url }: { url: string }): string {
  const asked = new URL(publicUrl)
  const { host } = new URL(url)
  if (audienceOf(publicUrl, `${asked.protocol}//${host}/`) !== undefined) asked.host = host
  return asked.origin
}

/** All scopes that a connection can ask for, in their order. */
export const scopesSupported = Object.keys(oauthScopes)

/** Where the metadata of a resource lies (RFC 9728 section 3.1): between its host and its path. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}

/**
 * The metadata of a resource of this service (RFC 9728 section 2). Hosts ask for all the scopes that it lists, so it lists
 * what a connection needs to begin with (MCP: Scope Selection Strategy); for a tool that needs more a host is told so then.
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
