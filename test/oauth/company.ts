import * as client from 'openid-client'
import { listenForSignIns, trustCommand } from '../../src/commands/identity-provider.ts'
import { openBrowser } from './browser.ts'
import type { Served } from './served.ts'

export interface Company {
  /** The issuer. */
  url: string
  close(): Promise<void>
}

/** Starts the package's own identity provider next to a served world, like `serve --with-idp`. */
export async function openCompany({ world, url }: Served): Promise<Company> {
  const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: line, info: line, warn: line, error: line }
  const dependencies = { store: world.store, publicUrl: () => url, log }
  const listener = await listenForSignIns({ port: 0, withIdp: true }, dependencies)
  if (listener === undefined) throw new Error('The identity provider did not start.')
  return listener
}

export interface Host {
  clientId: string
  clientSecret: string
}

/** Makes the service trust the company for a host, with the request from the command that `serve` prints. */
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

/** Signs a person in at the company like a host: in a browser, with the code flow. Returns their ID token. */
export async function signInAt(company: Company, { clientId, clientSecret }: Host, email: string): Promise<string> {
  const insecure = { execute: [client.allowInsecureRequests] }
  const config = await client.discovery(new URL(company.url), clientId, clientSecret, undefined, insecure)
  const [verifier, state] = [client.randomPKCECodeVerifier(), client.randomState()]
  const begun = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid email profile',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const browser = openBrowser({ service: { fetch: (request) => fetch(request) } }, company.url)
  const people = await browser.get(begun.href)
  const row = people.text.split('\n').find((line) => line.includes(email)) ?? ''
  const back = await browser.get(/href="([^"]+)"/.exec(row)?.[1] ?? 'nobody')
  const checks = { pkceCodeVerifier: verifier, expectedState: state }
  const tokens = await client.authorizationCodeGrant(config, new URL(back.url), checks)
  return String(tokens.id_token)
}
