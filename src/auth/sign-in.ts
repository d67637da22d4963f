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

/** A sign-in that is about to start: the server, the client, and the requested access. */
export interface SignIn {
  config: Configuration
  issuer: string
  /** The API's identifier (RFC 8707). Every token request states it, so that the tokens are valid for this API only. */
  resource: string
  /** The scopes, separated by spaces. */
  scope: string
}

/**
 * Finds out how to sign in to an API. Registers this program at the authorization server, unless the server already
 * knows it.
 */
export async function prepareSignIn({ baseUrl, store, fetch }: SignInOptions): Promise<SignIn> {
  const { resource, issuer, scopes } = await readResourceMetadata(baseUrl, fetch)
  const config = await findOrRegisterClient(issuer, store, fetch)
  const { scopes_supported: supportedScopes } = config.serverMetadata()
  // The API's metadata lists only the scopes that a host needs at first. This program cannot request more scopes later.
  // Therefore, it also requests the scopes that the authorization server lists.
  const requestedScopes = new Set([...scopes, ...(supportedScopes ?? [])])
  for (const scope of personalScopes) requestedScopes.delete(scope)
  // `offline_access` yields a refresh token (OpenID Connect Core section 11). A server whose list of scopes lacks
  // `offline_access` may refuse a request for it.
  if (supportedScopes?.includes('offline_access') ?? true) requestedScopes.add('offline_access')
  return { config, issuer, resource, scope: [...requestedScopes].join(' ') }
}

/** The scopes that identify a person (OpenID Connect Core section 5.4). This program does not need them. */
const personalScopes = ['openid', 'profile', 'email', 'address', 'phone']

/** Stores the tokens of a successful sign-in. Replaces an earlier login at the same API. */
export async function storeLogin(
  { baseUrl, store, system }: SignInOptions,
  { config, issuer, resource }: SignIn,
  tokens: TokenEndpointResponse,
  { proofFile, company }: Pick<Login, 'proofFile' | 'company'> = {},
): Promise<void> {
  const { client_id: clientId } = config.clientMetadata()
  const login: Login = {
    ...{ issuer, clientId, resource, ...accessTokenOf(tokens, system), refreshToken: tokens.refresh_token ?? null },
    ...(proofFile === undefined ? {} : { proofFile }),
    ...(company === undefined ? {} : { company }),
  }
  await store.exclusively((stored, write) =>
    write({ clients: stored.clients, logins: { ...stored.logins, [baseUrl]: login } }),
  )
}

/**
 * The lifetime of an access token if the server does not state it (RFC 6749 section 5.1): 15 minutes, as in
 * docs/service.md#short-lived-tokens.
 */
const defaultLifetimeSeconds = 900

/**
 * Returns the access token of a response, with the times at which it was obtained and at which it expires, by this
 * machine's clock.
 */
export function accessTokenOf(
  { access_token, expires_in = defaultLifetimeSeconds }: TokenEndpointResponse,
  system: Pick<System, 'now'>,
): Pick<Login, 'accessToken' | 'obtainedAtMs' | 'expiresAtMs'> {
  const obtainedAtMs = system.now()
  return { accessToken: access_token, obtainedAtMs, expiresAtMs: obtainedAtMs + expires_in * 1000 }
}

async function findOrRegisterClient(issuer: string, store: TokenStore, fetch: Fetch): Promise<Configuration> {
  const clientId = (await store.read()).clients[issuer]?.clientId
  if (clientId !== undefined) {
    const config = await openAuthorizationServer(issuer, clientId, fetch)
    // A recreated sandbox does not know the clients that registered at the previous one.
    if (await knowsClient(config)) return config
  }
  const config = await registerClient(issuer, fetch)
  const registered = { clientId: config.clientMetadata().client_id }
  await store.exclusively((stored, write) =>
    write({ logins: stored.logins, clients: { ...stored.clients, [issuer]: registered } }),
  )
  return config
}

/** Throws a `Failure` if the authorization server lacks the endpoint `name`. */
export function requireEndpoint(
  signIn: SignIn,
  name: 'authorization_endpoint' | 'device_authorization_endpoint',
): void {
  if (signIn.config.serverMetadata()[name] !== undefined) return
  const way = name === 'authorization_endpoint' ? 'in a browser: try --device' : 'with a code: try without --device'
  throw new Failure('not_implemented', { detail: `${new URL(signIn.issuer).host} offers no sign-in ${way}.` })
}
