import * as oauth from 'oauth4webapi'
import { address, type Browser, openBrowser, type Page, type Reachable } from './browser.ts'

export const callback = 'http://127.0.0.1:53682/callback'
export const mcpResource = `${address}/mcp`

const insecure = { [oauth.allowInsecureRequests]: true } as const

/** Returns options that make the strict OAuth client `oauth4webapi` send its requests straight to the service. */
export function transport({ service }: Reachable) {
  const send = (url: string, init: RequestInit) => service.fetch(new Request(url, init))
  return { ...insecure, [oauth.customFetch]: send as never }
}

export interface Application {
  world: Reachable
  server: oauth.AuthorizationServer
  client: oauth.Client
  resource: string
}

/** Discovers the authorization server, and registers a new application with it. */
export async function createApplication(
  world: Reachable,
  metadata: Record<string, unknown> = {},
  resource = mcpResource,
  issuerAddress = address,
): Promise<Application> {
  const options = transport(world)
  const issuer = new URL(issuerAddress)
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options })
  const server = await oauth.processDiscoveryResponse(issuer, discovered)
  const registered = await oauth.dynamicClientRegistrationRequest(
    server,
    { client_name: 'Test Host', redirect_uris: [callback], token_endpoint_auth_method: 'none', ...metadata },
    options,
  )
  const client = (await oauth.processDynamicClientRegistrationResponse(registered)) as oauth.Client
  return { world, server, client, resource }
}

export interface Attempt {
  url: string
  state: string
  verifier: string
}

/** Returns the URL of an authorization request. `change` sets query parameters; `null` removes a parameter. */
export async function authorizationUrl(
  { server, client, resource }: Application,
  change: Record<string, string | null> = {},
): Promise<Attempt> {
  const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()]
  const parameters: Record<string, string | null> = {
    client_id: client.client_id,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'payments:read payments:write cards:agent customers:read offline_access',
    resource,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    prompt: 'consent',
    ...change,
  }
  const url = new URL(String(server.authorization_endpoint))
  for (const [name, value] of Object.entries(parameters)) if (value !== null) url.searchParams.set(name, value)
  return { url: url.href, state, verifier }
}

export interface Choice {
  /** An agent's id, `new` for a new agent, or `user` to let the application act as the person. */
  agent?: string
  /** The name of a new agent. */
  name?: string
  decision?: 'allow' | 'deny'
}

/** Signs in if necessary and answers the consent page. Returns the page that follows, usually at the callback URL. */
export async function consent(browser: Browser, url: string, choice: Choice = {}): Promise<Page> {
  const consentPage = await signInIfAsked(browser, await browser.get(url))
  const agent = choice.agent ?? /name="agent" value="(agt_[0-9a-f]{32})"/.exec(consentPage.text)?.[1] ?? 'user'
  const { decision = 'allow', name = '' } = choice
  return browser.submit(consentPage, { agent, agentName: name, decision }, new URL(consentPage.url).pathname)
}

/** If the page is the sign-in page, signs the owner in and returns the next page. Otherwise, returns the given page. */
export async function signInIfAsked(browser: Browser, page: Page): Promise<Page> {
  const { pathname, searchParams } = new URL(page.url)
  if (pathname !== '/sign-in') return page
  return browser.signInOwner(searchParams.get('next') ?? '/connections')
}

export interface Tokens {
  access_token: string
  refresh_token: string
  scope: string
}

/** Exchanges the code in the callback URL for tokens, with every check that the OAuth standards require of a client. */
export async function exchangeCode(
  { world, server, client, resource }: Application,
  { state, verifier }: Attempt,
  callbackUrl: string,
): Promise<Tokens> {
  const parameters = oauth.validateAuthResponse(server, client, new URL(callbackUrl), state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    callback,
    verifier,
    {
      additionalParameters: { resource },
      ...transport(world),
    },
  )
  return (await oauth.processAuthorizationCodeResponse(server, client, response)) as unknown as Tokens
}

/**
 * Gets tokens for an application, after a person has allowed its request. Registers an application if none is given.
 */
export async function connect(
  world: Reachable,
  {
    choice = {},
    scope,
    change = {},
    browser = openBrowser(world),
    application,
  }: {
    choice?: Choice
    scope?: string
    change?: Parameters<typeof authorizationUrl>[1]
    browser?: Browser
    application?: Application
  } = {},
) {
  const app = application ?? (await createApplication(world))
  const attempt = await authorizationUrl(app, { ...(scope === undefined ? {} : { scope }), ...change })
  const back = await consent(browser, attempt.url, choice)
  const tokens = await exchangeCode(app, attempt, back.url)
  return { application: app, browser, attempt, back, tokens }
}
