import * as oauth from 'oauth4webapi'
import { address, type Browser, openBrowser, type Page, type Reachable } from './browser.ts'

export const callback = 'http://127.0.0.1:53682/callback'
export const mcpResource = `${address}/mcp`

const insecure = { [oauth.allowInsecureRequests]: true } as const

/** Returns the options that send a strict OAuth client's requests to the service. */
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

/** Creates an application that has discovered the server and registered with it. */
export async function createApplication(
  world: Reachable,
  metadata: Record<string, unknown> = {},
  resource = mcpResource,
  at = address,
): Promise<Application> {
  const through = transport(world)
  const issuer = new URL(at)
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...through })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  const registered = await oauth.dynamicClientRegistrationRequest(
    server,
    { client_name: 'Test Host', redirect_uris: [callback], token_endpoint_auth_method: 'none', ...metadata },
    through,
  )
  const client = (await oauth.processDynamicClientRegistrationResponse(registered)) as oauth.Client
  return { world, server, client, resource }
}

export interface Attempt {
  url: string
  state: string
  verifier: string
}

/**
 * Returns the address to which an application sends a person's browser. `change` sets parameters; `null` removes one.
 */
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
  /** An agent's id, `new`, or `user`. */
  agent?: string
  name?: string
  decision?: 'allow' | 'deny'
}

/** Answers the consent page as a signed-in person. Returns the page, or the address that the browser was sent to. */
export async function consent(browser: Browser, url: string, choice: Choice = {}): Promise<Page> {
  const consentPage = await signedIn(browser, await browser.get(url))
  const agent = choice.agent ?? /name="agent" value="(agt_[0-9a-f]{32})"/.exec(consentPage.text)?.[1] ?? 'user'
  const { decision = 'allow', name = '' } = choice
  return browser.submit(consentPage, { agent, agentName: name, decision }, new URL(consentPage.url).pathname)
}

/** If the page asks for it, signs in the sandbox's owner with proof of identity. Returns the next page. */
export async function signedIn(browser: Browser, page: Page): Promise<Page> {
  const { pathname, searchParams } = new URL(page.url)
  if (pathname !== '/sign-in') return page
  return browser.prove(searchParams.get('next') ?? '/connections')
}

export interface Tokens {
  access_token: string
  refresh_token: string
  scope: string
}

/** Exchanges the browser's code for tokens, with every check that the standards require. */
export async function exchangeCode(
  { world, server, client, resource }: Application,
  { state, verifier }: Attempt,
  back: string,
): Promise<Tokens> {
  const parameters = oauth.validateAuthResponse(server, client, new URL(back), state)
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

/** Connects an application: it registers, a person allows the request, and it gets its tokens. */
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
