import type { Context, Hono, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type Provider from 'oidc-provider'
import type { Config } from '../../config/settings.ts'
import { isLoopback } from '../../core/loopback.ts'
import { defaultOAuthScopes } from '../../core/permissions.ts'
import { resolveScopeAliases, scopeAliases } from '../../core/scope-aliases.ts'
import { sha256 } from '../../core/system.ts'
import { Tries } from '../../core/tries.ts'
import { callerOf } from '../request/client-address.ts'
import {
  assertionProfile,
  audienceOf,
  deviceGrant,
  loopbackAlias,
  resourceMetadata,
  scopesSupported,
  tokenExchangeGrant,
} from '../tokens/resources.ts'
import { type ClientLimits, metadataToRegister } from './clients.ts'
import { routes } from './endpoint-paths.ts'
import { introspect } from './introspection.ts'
import { errorAnswer } from './json-answers.ts'
import { type ExchangeDependencies, exchangeToken } from './token-exchange.ts'

interface OAuthEndpoints extends ExchangeDependencies {
  providers: () => Promise<Provider>
  publicUrl: () => string
  clientLimits: ClientLimits
  clientMetadata: Config['clientMetadata']
}

/** The maximum size of a request body. Every valid request to these endpoints is smaller. */
const maxBodyBytes = 16 * 1024

/** The minimum number of seconds between a device's token requests (RFC 8628 section 3.2). */
const pollSeconds = 5
/** How early a device's token request may come. Network delays vary, so even a punctual device is sometimes early. */
const pollToleranceMs = 1000

const discoveryPaths = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']

/**
 * The CORS headers that let pages of any origin call the endpoints. This is safe, because the listener has already
 * refused requests from forbidden origins, and no cookie identifies the caller.
 */
const preflight = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'Access-Control-Max-Age': '600',
}

/** Mounts the OAuth authorization server's endpoints and its discovery documents. */
export function mountEndpoints(app: Hono, endpoints: OAuthEndpoints): void {
  const { providers, publicUrl, clientLimits, system } = endpoints
  const polls = new Tries(system, pollSeconds * 1000 - pollToleranceMs)
  const limit = bodyLimit({
    maxSize: maxBodyBytes,
    onError: () => errorAnswer(413, 'invalid_request', `The body must be at most ${maxBodyBytes} bytes long.`),
  })
  const serve = async (
    c: Context,
    overrides: { body?: string; headers?: Record<string, string>; url?: string } = {},
  ) => {
    const [provider, { callNodeHandler }] = await Promise.all([providers(), import('./node-handler.ts')])
    const request = overrides.url === undefined ? c.req.raw : new Request(overrides.url, c.req.raw)
    const body = overrides.body ?? (await c.req.text())
    const address = callerOf(c)?.address
    const bridged = {
      publicUrl: publicUrl(),
      request,
      body,
      address,
      ...(overrides.headers && { headers: overrides.headers }),
    }
    return callNodeHandler(bridged, provider.callback())
  }
  app.options('/.well-known/*', (c) => c.body(null, 204, preflight))
  app.options('/oauth/*', (c) => c.body(null, 204, preflight))
  const addedMetadata = () => announcedMetadata(endpoints.clientMetadata, publicUrl())
  for (const path of discoveryPaths)
    app.get(path, async (c) => completeDiscovery(await serve(c), c.req.method, addedMetadata()))
  app.get('/.well-known/oauth-protected-resource/*', (c) => showResource(c, publicUrl()))
  app.get('/.well-known/oauth-protected-resource', (c) => showResource(c, publicUrl()))
  app.get(routes.authorization, (c) => serve(c, { url: withDefaults(c.req.url) }))
  app.get(`${routes.authorization}/:uid`, (c) => serve(c))
  app.get(routes.jwks, (c) => serve(c))
  app.post(routes.token, limit, async (c) => {
    const body = await c.req.text()
    const form = new URLSearchParams(body)
    if (form.get('grant_type') === deviceGrant && polls.count(sha256(form.get('device_code') ?? '')) > 1) {
      return errorAnswer(400, 'slow_down', `Wait ${pollSeconds} seconds longer between requests.`)
    }
    const exchanged = await exchangeToken(endpoints, c.req.header('content-type'), body)
    return exchanged ?? serve(c, form.has('scope') ? { body: formWithScope(body) } : { body })
  })
  app.post(routes.registration, limit, (c) => register(c, endpoints, serve))
  app.post(routes.introspection, limit, async (c) => {
    const body = await c.req.text()
    return (await introspect(endpoints, c.req.header('authorization'), body)) ?? serve(c, { body })
  })
  app.post(routes.revocation, limit, (c) => serve(c))
  app.post(routes.device_authorization, limit, async (c) => {
    const begun = await serve(c, { body: formWithScope(await c.req.text(), defaultOAuthScopes.join(' ')) })
    return begun.status === 200 ? withMembers(begun, { interval: pollSeconds }) : begun
  })
  // Each of the three routes below may show the form for the device's code. Showing this form stores a session if the
  // browser has none.
  const limitPages: MiddlewareHandler = async (c, next) => {
    if (clientLimits.mayOpenDevicePage(callerOf(c)?.address)) return next()
    return busyResponse('Too many pages were opened. Try again in a minute.')
  }
  app.get(routes.code_verification, limitPages, (c) => serve(c, { url: withCodeHint(c.req.url) }))
  app.post(routes.code_verification, limitPages, limit, (c) => serve(c))
  app.get(`${routes.code_verification}/:uid`, limitPages, (c) => serve(c))
}

async function register(
  c: Context,
  { clientLimits }: OAuthEndpoints,
  serve: (c: Context, overrides: { body: string; headers: Record<string, string> }) => Promise<Response>,
): Promise<Response> {
  let metadata: unknown
  try {
    metadata = JSON.parse(await c.req.text())
  } catch {
    metadata = undefined
  }
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    return errorAnswer(400, 'invalid_client_metadata', "The body must be a JSON object with the client's metadata.")
  }
  if (!(await clientLimits.mayRegister(callerOf(c)?.address))) {
    return busyResponse('Too many clients are registering. Try again in a minute.')
  }
  const body = JSON.stringify(metadataToRegister(metadata as Record<string, unknown>))
  return serve(c, { body, headers: { 'content-type': 'application/json' } })
}

function busyResponse(description: string): Response {
  return errorAnswer(429, 'temporarily_unavailable', description, { 'Retry-After': '60' })
}

/** Completes oidc-provider's discovery document with this service's scopes, grant types and other metadata. */
async function completeDiscovery(response: Response, method: string, members: object): Promise<Response> {
  // Errors and responses without a body are returned unchanged.
  if (response.status !== 200 || method === 'HEAD') return response
  const { grant_types_supported: grants } = (await response.clone().json()) as { grant_types_supported: string[] }
  return withMembers(response, {
    scopes_supported: ['openid', 'offline_access', ...scopesSupported, ...Object.keys(scopeAliases)],
    grant_types_supported: [...grants, tokenExchangeGrant],
    authorization_grant_profiles_supported: [assertionProfile],
    ...members,
  })
}

/**
 * Returns the members to change in the discovery document. By default, a service on a loopback address does not
 * announce support for client metadata documents, because the service may lack internet access to fetch them. New
 * clients then register themselves. Clients that already connected with a metadata document keep working.
 */
function announcedMetadata(clientMetadata: Config['clientMetadata'], publicUrl: string): object {
  const isHidden = clientMetadata === 'auto' && isLoopback(publicUrl)
  return isHidden ? { client_id_metadata_document_supported: undefined } : {}
}

/** Returns a copy of a JSON response with the given members added or replaced. */
async function withMembers(response: Response, members: object): Promise<Response> {
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  const body = JSON.stringify({ ...((await response.json()) as object), ...members })
  return new Response(body, { status: response.status, headers })
}

/**
 * Serves the metadata of a protected resource (RFC 9728 section 3): the API or the MCP endpoint. If the caller used
 * another host name of this service, such as `localhost`, the resource's URL in the response has that host name.
 */
function showResource(c: Context, publicUrl: string): Response {
  const path = new URL(c.req.url).pathname.replace('/.well-known/oauth-protected-resource', '')
  const resource = `${loopbackAlias(publicUrl, c.req)}${path === '/' ? '' : path}`
  if (audienceOf(publicUrl, resource) === undefined) return c.notFound() as Response
  const headers = { 'Cache-Control': 'no-cache', 'Access-Control-Allow-Origin': '*' }
  return c.json(resourceMetadata(resource, publicUrl), 200, headers)
}

/**
 * Adds the default scopes to an authorization request without `scope` (RFC 6749 section 3.3). Also adds
 * `prompt=consent`, because a person decides on every connection; `prompt=none` and a repeated `prompt` are left
 * unchanged. Without `prompt=consent`, the authorization server would drop the scope `offline_access`. It would later
 * refuse a token refresh that requests this scope.
 */
function withDefaults(url: string): string {
  const completed = new URL(url)
  const { searchParams } = completed
  if (!searchParams.has('scope')) searchParams.set('scope', defaultOAuthScopes.join(' '))
  replaceScopeAliases(searchParams)
  const prompts = searchParams.getAll('prompt').join(' ').split(' ').filter(Boolean)
  const isKept = prompts.includes('none') || prompts.includes('consent') || searchParams.getAll('prompt').length > 1
  if (!isKept) searchParams.set('prompt', [...prompts, 'consent'].join(' '))
  return completed.href
}

/**
 * Renames the query parameter `user_code` to `code_hint`. The code then only prefills the form, so the person must
 * still compare the code and submit the form.
 */
function withCodeHint(url: string): string {
  const hinted = new URL(url)
  const code = hinted.searchParams.get('user_code')
  if (code !== null) hinted.searchParams.set('code_hint', code)
  hinted.searchParams.delete('user_code')
  return hinted.href
}

/** Returns the form with scope aliases replaced by scopes. A missing `scope` is set to `defaultScope`, if given. */
function formWithScope(body: string, defaultScope?: string): string {
  const form = new URLSearchParams(body)
  replaceScopeAliases(form)
  if (!form.has('scope') && defaultScope !== undefined) form.set('scope', defaultScope)
  return form.toString()
}

/**
 * Replaces scope aliases by scopes. Changes nothing if `scope` is repeated, because such a request is refused later.
 */
function replaceScopeAliases(params: URLSearchParams): void {
  const [scope, ...more] = params.getAll('scope')
  if (scope !== undefined && more.length === 0) params.set('scope', resolveScopeAliases(scope))
}
