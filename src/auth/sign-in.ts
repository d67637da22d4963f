import type { Configuration, TokenEndpointResponse } from 'openid-client'
import { Failure } from '../core/errors.ts'
import type { System } from '../core/system.ts'
import { knowsClient, openAuthorizationServer, registerClient } from './authorization-server.ts'
import { type Fetch, readResourceMetadata } from './resource-metadata.ts'
import type { Login, TokenStore } from './token-store.ts'

export interface SignInOptions {
  /** The address of the payments API. */
  baseUrl: string
  store: TokenStore
  system: System
  fetch: Fetch
}

/** A sign-in that is about to start: whom to ask, as whom, and for what. */
export interface SignIn {
  config: Configuration
  issuer: string
  /** Asked for with every request (RFC 8707), so that the tokens are good for this API alone. */
  resource: string
  /** Separated by spaces. */
  scope: string
}

/** Finds out how to sign in at an API, and registers this program at its authorization server the first time. */
export async function prepareSignIn({ baseUrl, store, fetch }: SignInOptions): Promise<SignIn> {
  const { resource, issuer, scopes } = await readResourceMetadata(baseUrl, fetch)
  const config = await clientAt(issuer, store, fetch)
  const { scopes_supported: known } = config.serverMetadata()
  // The API lists what a host needs to begin with; a program that cannot ask again in the middle asks for all there is.
  const asked = new Set([...scopes, ...(known ?? [])])
  for (const scope of aboutPeople) asked.delete(scope)
  // Gives a refresh token (OpenID Connect Core section 11); one that does not list it may refuse it.
  if (known?.includes('offline_access') ?? true) asked.add('offline_access')
  return { config, issuer, resource, scope: [...asked].join(' ') }
}

/** What tells who somebody is (OpenID Connect Core section 5.4), which this program has no use for. */
const aboutPeople = ['openid', 'profile', 'email', 'address', 'phone']

/** Keeps the tokens of a sign-in that succeeded, in place of those of an earlier one. */
export async function keepLogin(
  { baseUrl, store, system }: SignInOptions,
  { config, issuer, resource }: SignIn,
  tokens: TokenEndpointResponse,
): Promise<void> {
  const { client_id: clientId } = config.clientMetadata()
  const login = { issuer, clientId, resource, ...lifeOf(tokens, system), refreshToken: tokens.refresh_token ?? null }
  await store.exclusively((stored, write) =>
    write({ clients: stored.clients, logins: { ...stored.logins, [baseUrl]: login } }),
  )
}

/** A server may leave it out (RFC 6749 section 5.1); it is 15 minutes (docs/service.md#short-lived-tokens). */
const usualLifetimeSeconds = 900

/** The access token of an answer, and when it ends by this machine's clock. */
export function lifeOf(
  { access_token, expires_in = usualLifetimeSeconds }: TokenEndpointResponse,
  system: Pick<System, 'now'>,
): Pick<Login, 'accessToken' | 'obtainedAtMs' | 'expiresAtMs'> {
  const obtainedAtMs = system.now()
  return { accessToken: access_token, obtainedAtMs, expiresAtMs: obtainedAtMs + expires_in * 1000 }
}

async function clientAt(issuer: string, store: TokenStore, fetch: Fetch): Promise<Configuration> {
  const clientId = (await store.read()).clients[issuer]?.clientId
  if (clientId !== undefined) {
    const config = await openAuthorizationServer(issuer, clientId, fetch)
    // A sandbox that was made anew knows nothing of the clients of the one before.
    if (await knowsClient(config)) return config
  }
  const config = await registerClient(issuer, fetch)
  const registered = { clientId: config.clientMetadata().client_id }
  await store.exclusively((stored, write) =>
    write({ logins: stored.logins, clients: { ...stored.clients, [issuer]: registered } }),
  )
  return config
}

/** Refuses to go on without what the server must offer for this way of signing in. */
export function needEndpoint(sign: SignIn, name: 'authorization_endpoint' | 'device_authorization_endpoint'): void {
  if (sign.config.serverMetadata()[name] !== undefined) return
  const way = name === 'authorization_endpoint' ? 'in a browser: try --device' : 'with a code: try without --device'
  throw new Failure('not_implemented', { detail: `${new URL(sign.issuer).host} offers no sign-in ${way}.` })
}
