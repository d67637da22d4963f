import * as client from 'openid-client'
import { redirectUri, type Side } from './sides.ts'

/** Parameters to add to a request, or to replace in it; `null` removes a parameter. */
export type Change = Record<string, string | null>

export const scope = 'cards:agent offline_access'

export async function begin(side: Side, change: Change = {}) {
  const verifier = client.randomPKCECodeVerifier()
  const parameters: Change = {
    redirect_uri: redirectUri,
    scope,
    resource: side.resource,
    state: client.randomState(),
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    prompt: 'consent',
    ...change,
  }
  const present = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null)
  const url = client.buildAuthorizationUrl(side.application, Object.fromEntries(present))
  if (change.client_id === null) url.searchParams.delete('client_id')
  return { url: url.href, verifier, state: parameters.state ?? null }
}

/**
 * Returns a script for a side. The script sends an authorization request, and its result says how the side responds: it
 * asks a person, shows an error page, or redirects with an error.
 */
export const requestAuthorization = (change: Change) => async (side: Side) => {
  const { address, status } = await side.open((await begin(side, change)).url)
  if (address.origin === side.issuer) return /interaction|sign-in/.test(address.pathname) ? 'asks' : `page ${status}`
  const target = address.origin + address.pathname === redirectUri ? 'back' : `at ${address.origin}${address.pathname}`
  // In the implicit flow, the error is in the fragment of the redirect URI.
  const answer = new URLSearchParams(address.search || address.hash.slice(1))
  return `${target} with ${answer.get('error')}`
}

/** Sends an authorization request and allows it as a person would. Returns the values that a token request needs. */
export async function allow(side: Side, change: Change = {}) {
  const { url, verifier, state } = await begin(side, change)
  const back = await side.answer(url, 'allow')
  return { back, verifier, state, code: back.searchParams.get('code') ?? '' }
}

/** Sends a token request. Returns the status of the response, followed by the error if the request is refused. */
export async function requestToken(side: Side, form: Change, headers: Record<string, string> = {}): Promise<string> {
  const body = new URLSearchParams()
  const fields: Change = { client_id: idOf(side.application), ...form }
  for (const [name, value] of Object.entries(fields)) if (value !== null) body.set(name, value)
  return outcomeOf(await post(side, 'token_endpoint', body, headers))
}

export function post(
  side: Side,
  endpoint: string,
  body: URLSearchParams | string,
  headers: Record<string, string> = {},
) {
  const url = String(side.application.serverMetadata()[endpoint])
  return side.send(url, { method: 'POST', body, headers })
}

export async function outcomeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error?: string }
  return error === undefined ? String(response.status) : `${response.status} ${error}`
}

export const idOf = (application: client.Configuration) => application.clientMetadata().client_id

/**
 * Returns a script that sends an authorization request, allows it as a person would, and gets a code. The script then
 * sends a token request for this code, with the given changes.
 */
export const presentCode =
  (change: Change | ((side: Side) => Change), headers: Record<string, string> = {}) =>
  async (side: Side) => {
    const { code, verifier } = await allow(side)
    const request = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
    return requestToken(side, { ...request, ...(typeof change === 'function' ? change(side) : change) }, headers)
  }

/** Runs the whole authorization code flow with openid-client's strict checks. Returns the tokens. */
export async function connect(side: Side, change: Change = {}) {
  const { back, verifier, state } = await allow(side, change)
  const checks = { pkceCodeVerifier: verifier, ...(state === null ? {} : { expectedState: state }) }
  return client.authorizationCodeGrant(side.application, back, checks, { resource: side.resource })
}

export const presentRefreshToken =
  (change: Change | ((side: Side) => Change), headers: Record<string, string> = {}) =>
  async (side: Side) => {
    const refresh_token = String((await connect(side)).refresh_token)
    const form = { grant_type: 'refresh_token', refresh_token }
    return requestToken(side, { ...form, ...(typeof change === 'function' ? change(side) : change) }, headers)
  }
