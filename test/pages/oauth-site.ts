import { Hono } from 'hono'
import type { Environment } from '../../src/core/operation.ts'
import { newId, sha256 } from '../../src/core/system.ts'
import type { ConsentRequest } from '../../src/service/oauth/consent.ts'
import type { Interactions } from '../../src/service/oauth/interactions.ts'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import { mountConnections } from '../../src/service/pages/connections/routes.ts'
import { mountConsent } from '../../src/service/pages/consent/routes.ts'
import { mountAssets } from '../../src/service/pages/frame/assets.ts'
import { mountSignIn } from '../../src/service/pages/sign-in/routes.ts'
import { insertSession } from '../../src/service/store/browser-sessions.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { createUser, newUser } from '../../src/service/store/users.ts'
import type { TestDatabase } from '../support/databases.ts'
import { createWorld, type World, type WorldOptions } from '../support/world.ts'

export const address = 'http://127.0.0.1:4010'

/** The OAuth pages with a real database. Only the authorization requests are simulated. */
export interface OAuthSite {
  world: World
  signIn: SignIn
  owner: UserRow
  /** The pending authorization request, the same in every browser; undefined if there is none. */
  consentRequest: ConsentRequest | undefined
  /** The recorded decisions on authorization requests, oldest first. */
  decisions: string[]
  /** Creates an app that serves the pages. By default, its address is `address`, and its environment is the sandbox. */
  app(options?: { publicUrl?: () => string; environment?: Environment }): Hono
  addUser(change?: Partial<UserRow>): Promise<UserRow>
  deleteAgent(agentId: string): Promise<void>
  /** Creates a session for the user, and returns the value of the session cookie. */
  sessionOf(user: UserRow): Promise<string>
}

export async function createOAuthSite(database: TestDatabase, options: WorldOptions = {}): Promise<OAuthSite> {
  const world = await createWorld(database, options)
  const { store, system } = world
  const signIn = new SignIn({ store, system })
  const owner = await signIn.owner()
  if (owner === undefined) throw new Error('The seeded party has no owner.')
  const site: OAuthSite = {
    world,
    signIn,
    owner,
    consentRequest: undefined,
    decisions: [],
    app: ({ publicUrl = () => address, environment = 'sandbox' } = {}) => {
      const app = new Hono()
      const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
      const log = { debug: line, info: line, warn: line, error: line }
      const dependencies = { environment, publicUrl, store, system, log, signIn }
      mountAssets(app)
      mountSignIn(app, dependencies)
      mountConsent(app, { ...dependencies, interactions: simulatedInteractions(site) })
      mountConnections(app, dependencies)
      return app
    },
    addUser: async (change = {}) => {
      const nowMs = system.now()
      const id = newId('usr', system, nowMs)
      const user = {
        id,
        partyId: owner.partyId,
        role: 'MEMBER',
        name: 'Max Member',
        email: `${id}@example.com`,
      } as const
      const row = { ...newUser, ...user, createdAtMs: nowMs, ...change }
      await store.transaction((tx) => createUser(tx, row))
      return row
    },
    deleteAgent: async (agentId) => {
      const status = 'REVOKED'
      await store.transaction((tx) => tx.db.updateTable('agents').set({ status }).where('id', '=', agentId).execute())
    },
    sessionOf: async ({ id: userId }) => {
      const nowMs = system.now()
      const secret = newId('session', system, nowMs)
      const row = { idHash: sha256(secret), userId, createdAtMs: nowMs, expiresAtMs: nowMs + 3_600_000 }
      await store.transaction((tx) => insertSession(tx, row))
      return secret
    },
  }
  return site
}

export const clientId = 'https://assistant.example/client.json'

/** Creates an authorization request from the application Assistant, with the given changes. */
export function createConsentRequest({
  client = {},
  ...request
}: { client?: Partial<ConsentRequest['client']> } & Partial<Omit<ConsentRequest, 'client'>> = {}): ConsentRequest {
  const redirectUri = 'https://assistant.example/callback'
  return {
    uid: 'uid-1',
    scopes: ['payments:read', 'cards:agent'],
    client: { id: clientId, name: 'Assistant', uri: null, redirectUri, ...client },
    ...request,
  }
}

/** Simulates the authorization server: records a decision, redirects to the application and sets cookies. */
function simulatedInteractions(site: OAuthSite): Interactions {
  const back = (query: string) => {
    const to = site.consentRequest?.client.redirectUri ?? `${address}/oauth/device/uid-1`
    const headers = new Headers({ Location: `${to}?${query}` })
    headers.append('Set-Cookie', '_interaction=; path=/oauth/consent/uid-1')
    headers.append('Set-Cookie', '_interaction_resume=1; path=/oauth/authorize/uid-1')
    return new Response(null, { status: 303, headers })
  }
  return {
    request: async () => site.consentRequest,
    allow: async (_request, user, consentRequest, { id, scopes }) => {
      site.decisions.push(`${user.id} allowed ${consentRequest.client.name} ${scopes.join(' ')} by ${id}`)
      return back('code=1')
    },
    deny: async () => {
      site.decisions.push('denied')
      return back('error=access_denied')
    },
  }
}

export interface PageAnswer {
  status: number
  headers: Headers
  text: string
  /** The address of the redirect, or null if there is none. */
  location: string | null
}

/** An HTTP client that acts like a browser: it stores cookies, and its forms send `Origin` and `Sec-Fetch-Site`. */
export interface Visitor {
  cookies: Map<string, string>
  open(path: string): Promise<PageAnswer>
  /** Submits the form for `action` on the page opened last. Sends the form's hidden fields and the given fields. */
  send(
    action: string,
    fields?: Record<string, string | string[]>,
    headers?: Record<string, string>,
  ): Promise<PageAnswer>
  /** Sends only the given fields, without the hidden fields of a form. */
  post(action: string, fields: Record<string, string | string[]>, headers?: Record<string, string>): Promise<PageAnswer>
}

export function createVisitor(
  app: Hono,
  { session, origin = address }: { session?: string; origin?: string } = {},
): Visitor {
  const cookies = new Map<string, string>(session === undefined ? [] : [['payments_session', session]])
  let page = ''
  const ask = async (path: string, init: RequestInit): Promise<PageAnswer> => {
    const headers = new Headers(init.headers)
    headers.set('Cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await app.fetch(new Request(origin + path, { ...init, headers }))
    for (const line of response.headers.getSetCookie()) storeCookie(cookies, line)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, location: response.headers.get('location') }
  }
  const post: Visitor['post'] = async (action, fields, headers = {}) => {
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) body.append(name, one)
    const sentHeaders = { Origin: origin, 'Sec-Fetch-Site': 'same-origin', ...headers }
    return ask(action, { method: 'POST', body, headers: sentHeaders })
  }
  return {
    cookies,
    open: async (path) => {
      const pageAnswer = await ask(path, {})
      page = pageAnswer.text
      return pageAnswer
    },
    post,
    send: (action, fields = {}, headers = {}) => post(action, { ...hiddenFields(page, action), ...fields }, headers),
  }
}

function storeCookie(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = line.match(/^([^=]+)=([^;]*)/) ?? []
  if (value === '' || /max-age=0/i.test(line)) cookies.delete(name)
  else cookies.set(name, value)
}

function hiddenFields(page: string, action: string): Record<string, string> {
  // The bar at the top may have a form with the same action. The page's own form comes later, so the last one is used.
  const form = page.split('<form ').findLast((part) => part.includes(`action="${action}"`))
  if (form === undefined) throw new Error(`The page has no form with the action ${action}.`)
  const inside = form.slice(0, form.indexOf('</form>'))
  const hidden = inside.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)
  return Object.fromEntries([...hidden].map(([, name, value]) => [name, value]))
}
