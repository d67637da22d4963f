import * as client from 'openid-client'
import { listenForSignIns, trustCommand } from '../../src/commands/identity-provider.ts'
import { openBrowser } from './browser.ts'
import type { Served } from './served.ts'

/** A company's identity provider. Its `url` is also its issuer identifier. */
export interface Company {
  url: string
  close(): Promise<void>
}

/** Starts the built-in identity provider next to a served world, as `serve --with-idp` does. */
export async function openCompany({ world, url }: Served): Promise<Company> {
  const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: line, info: line, warn: line, error: line }
  const dependencies = { store: world.store, publicUrl: () => url, log }
  const listener = await listenForSignIns({ port: 0, withIdp: true }, dependencies)
  if (listener === undefined) throw new Error('The identity provider did not start.')
  return listener
}

/** An AI host's credentials at the company's identity provider. */
export interface Host {
  clientId: string
  clientSecret: string
}

/**
 * Makes the service trust the company's identity provider for a new host. Sends the request of the curl command that
 * `serve` prints. Returns the host's credentials.
 */
export async function trustHost({ world, url: publicUrl }: Served, company: Company, email: string): Promise<Host> {
  const { agentId } = await world.whoami()
  const command = trustCommand(company.url, { publicUrl, email, agentId })
  const [, path = ''] = /^curl -s (\S+)/.exec(command) ?? []
  const [, body = ''] = / -d '(.*)'$/s.exec(command) ?? []
  const answer = await world.send('POST', new URL(path).pathname, { key: world.apiKey, body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json.data.attributes
}

const callback = 'http://127.0.0.1:53682/callback'

/**
 * Signs a person in at the company's identity provider, as a host does: in a browser, with the authorization code flow.
 * Returns the person's ID token.
 */
export async function signInAt(company: Company, { clientId, clientSecret }: Host, email: string): Promise<string> {
  const insecure = { execute: [client.allowInsecureRequests] }
  const config = await client.discovery(new URL(company.url), clientId, clientSecret, undefined, insecure)
  const [verifier, state] = [client.randomPKCECodeVerifier(), client.randomState()]
  const signInUrl = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid email profile',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const browser = openBrowser({ service: { fetch: (request) => fetch(request) } }, company.url)
  const peoplePage = await browser.get(signInUrl.href)
  const row = peoplePage.text.split('\n').find((line) => line.includes(email)) ?? ''
  const redirect = await browser.get(/href="([^"]+)"/.exec(row)?.[1] ?? '/no-such-person')
  const checks = { pkceCodeVerifier: verifier, expectedState: state }
  const tokens = await client.authorizationCodeGrant(config, new URL(redirect.url), checks)
  return String(tokens.id_token)
}
