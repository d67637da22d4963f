import * as client from 'openid-client'
import { createPerson } from '../auth/person.ts'
import { startPlainProvider } from '../auth/plain-provider.ts'
import { sqlite } from '../support/databases.ts'
import { dateSystem } from '../support/fake-system.ts'
import { createWorld } from '../support/world.ts'
import { consent } from './application.ts'
import { address, openBrowser } from './browser.ts'

/** One of the two authorization servers to compare: this service, or a plain `oidc-provider`. */
export interface Side {
  issuer: string
  /** The resource that requests ask for by default. */
  resource: string
  /** A second resource for which the server issues tokens. */
  otherResource: string
  /** The application that sends requests by default. */
  application: client.Configuration
  /** A second registered application. */
  other: client.Configuration
  /** Sends a request without following redirects. */
  send(url: string, init?: RequestInit): Promise<Response>
  /**
   * Opens a URL in a browser, and follows redirects until one leads to a different site, which is not opened. Returns
   * the final URL and, for a page of this side, the status.
   */
  open(url: string): Promise<Landing>
  /** Opens an authorization request, and allows or denies it as a person would. Returns the browser's final URL. */
  answer(url: string, decision: 'allow' | 'deny'): Promise<URL>
  close(): Promise<void>
}

export interface Landing {
  address: URL
  status: number
}

/** The registered redirect URI. It has no port, so the application may listen on any free port. */
const registeredRedirectUri = 'http://127.0.0.1/callback'
export const redirectUri = 'http://127.0.0.1:53682/callback'

/** Creates this service with `Date` as its clock. Requests are passed to the service without a network. */
export async function openService(): Promise<Side> {
  const system = dateSystem()
  const world = await createWorld(sqlite, { system })
  const send: Side['send'] = (url, init) => world.service.fetch(new Request(url, init))
  return {
    issuer: address,
    resource: address,
    otherResource: `${address}/mcp`,
    send,
    ...(await registerApplications(address, send)),
    open: async (url) => {
      const page = await openBrowser(world).get(url)
      return { address: new URL(page.url), status: page.status }
    },
    answer: async (url, decision) => new URL((await consent(openBrowser(world), url, { decision })).url),
    close: () => world.drop(),
  }
}

/** Starts a server that uses the library `oidc-provider`, as this service does, with nearly default settings. */
export async function openPlain(): Promise<Side> {
  const otherResource = 'https://other.example'
  const plain = await startPlainProvider({ otherResources: [otherResource] })
  const send: Side['send'] = (url, init) => fetch(url, { ...init, redirect: 'manual' })
  const { issuer, resource } = plain
  return {
    issuer,
    resource,
    otherResource,
    send,
    ...(await registerApplications(issuer, send)),
    open: (url) => createPerson().open(url, ({ origin }) => origin !== issuer),
    answer: (url, decision) => createPerson().signIn(url, decision === 'allow' ? 'confirm' : 'abort'),
    close: () => plain.close(),
  }
}

async function registerApplications(issuer: string, send: Side['send']): Promise<Pick<Side, 'application' | 'other'>> {
  const register = (name: string) =>
    client.dynamicClientRegistration(
      new URL(issuer),
      {
        client_name: name,
        application_type: 'native',
        redirect_uris: [registeredRedirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      client.None(),
      {
        algorithm: 'oauth2',
        execute: [client.allowInsecureRequests],
        [client.customFetch]: (url, init) => send(url, init as RequestInit),
      },
    )
  return { application: await register('An application'), other: await register('Another application') }
}
