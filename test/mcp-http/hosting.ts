import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StreamableHTTPClientTransport as EarlierHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Server, Transport } from '@modelcontextprotocol/server'
import type { Log } from '../../src/client/client.ts'
import type { SessionStore } from '../../src/core/session-store.ts'
import { realSystem, type System } from '../../src/core/system.ts'
import { type EndpointDependencies, McpEndpoint } from '../../src/mcp/http/endpoint.ts'
import type { HostContext, Principal } from '../../src/mcp/http/host-context.ts'
import type { Limits } from '../../src/mcp/http/limits.ts'
import { isAllowedOrigin, listen } from '../../src/service/listen.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { createMcpSessions } from '../../src/service/store/mcp-sessions.ts'
import { testServer } from './test-server.ts'

/** An MCP endpoint behind a real HTTP listener. */
export interface Hosting {
  url: string
  endpoint: McpEndpoint
  /** The valid credentials and their principals. Tests may change them. */
  credentials: Map<string, Principal>
  logged: string[]
  close(): Promise<void>
}

export interface HostingOptions {
  createServer?: (connection: HostContext) => Server
  sessions?: SessionStore
  system?: System
  limits?: Partial<Limits>
  scopesFor?: (message: unknown) => readonly string[]
  isSecret?: EndpointDependencies['isSecret']
  allowedOrigins?: readonly string[]
}

export const origin = 'https://inspector.example'

export async function createHosting(options: HostingOptions = {}): Promise<Hosting> {
  const { system = realSystem, limits, createServer = testServer } = options
  const { scopesFor = () => [], isSecret = () => false, allowedOrigins = [origin] } = options
  const ownStore = options.sessions === undefined ? await openStore({ url: 'sqlite::memory:', system }) : undefined
  const sessions = options.sessions ?? createMcpSessions(ownStore as Store)
  const credentials = new Map([principal('alice'), principal('bob')])
  const logged: string[] = []
  const record = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log & Record<'debug' | 'info', typeof record> = {
    debug: record,
    info: record,
    warn: record,
    error: record,
  }
  const endpoint = new McpEndpoint({
    authorize: async (credential) => credentials.get(credential),
    limit: async () => ({ headers: {}, failure: undefined }),
    createServer,
    sessions,
    changes: noChanges,
    challenge: (request) => ({
      resourceMetadata: new URL('/.well-known/oauth-protected-resource/mcp', request.url).href,
      scope: 'cards:agent',
    }),
    scopesFor,
    isSecret,
    sealKey: 'the same in all processes',
    allowsOrigin: (from) => isAllowedOrigin(from, allowedOrigins),
    system,
    log,
    ...(limits === undefined ? {} : { limits }),
  })
  const fetch = (request: Request) => endpoint.fetch(request)
  const corsPaths = (path: string) => path.startsWith('/mcp')
  const listener = await listen({
    fetch,
    host: '127.0.0.1',
    port: 0,
    system: realSystem,
    log,
    corsPaths,
    allowedOrigins,
  })
  const close = async () => {
    await endpoint.close()
    await listener.close()
    await ownStore?.close()
  }
  return { url: `${listener.url}/mcp`, endpoint, credentials, logged, close }
}

/** A source that never reports changes. Tests call the endpoint's `notify` instead. */
const noChanges: EndpointDependencies['changes'] = {
  activity: {
    lastSequences: async () => new Map(),
    after: async (_partyId, sequence) => ({ changes: [], last: sequence }),
    onChange: () => () => {},
  },
  follow: () => ({ begin: async () => {}, end: () => {} }),
  mayRead: async () => false,
}

/** Returns the credential `token-of-NAME` and its principal, as an entry for `credentials`. */
export function principal(name: string, overrides: Partial<Principal> = {}): [string, Principal] {
  const credential = `token-of-${name}`
  return [
    credential,
    { id: name, partyId: name, actor: 'agent', scopes: undefined, clientId: undefined, credential, ...overrides },
  ]
}

/** Creates a transport of the given SDK. `provideBreak` receives a function that breaks the current connections. */
export function transportTo(
  sdk: 'v1' | 'v2',
  url: string,
  credential = 'token-of-alice',
  headers: Record<string, string> = {},
  provideBreak?: (breakConnection: () => void) => void,
): Transport {
  const requestInit = { headers: { Authorization: `Bearer ${credential}`, ...headers } }
  const reconnectionOptions = {
    initialReconnectionDelay: 10,
    maxReconnectionDelay: 100,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 5,
  }
  let connection = new AbortController()
  provideBreak?.(() => {
    connection.abort()
    connection = new AbortController()
  })
  const breakableFetch = (address: string | URL, init: RequestInit = {}) =>
    fetch(address, { ...init, signal: AbortSignal.any([connection.signal, ...(init.signal ? [init.signal] : [])]) })
  const options = { requestInit, reconnectionOptions, ...(provideBreak === undefined ? {} : { fetch: breakableFetch }) }
  return sdk === 'v1'
    ? (new EarlierHttpTransport(new URL(url), options) as unknown as Transport)
    : new StreamableHTTPClientTransport(new URL(url), options)
}

/** Creates a minimal host without an SDK. It can send messages that no SDK would send. */
export function rawHost(url: string, credential = 'token-of-alice') {
  let sessionId: string | undefined
  const send = (method: string, body?: unknown, headers: Record<string, string | undefined> = {}) => {
    const all: Record<string, string | undefined> = {
      Authorization: `Bearer ${credential}`,
      Accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      'Mcp-Session-Id': sessionId,
      'Content-Type': body === undefined ? undefined : 'application/json',
      'Mcp-Protocol-Version': sessionId === undefined ? undefined : '2025-11-25',
      ...headers,
    }
    const sent = Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return fetch(url, { method, headers: sent, ...(body === undefined ? {} : { body: text }) })
  }
  const post = (body: unknown, headers?: Record<string, string | undefined>) => send('POST', body, headers)
  return {
    send,
    post,
    call: (id: string | number, name: string, args: object = {}, params: object = {}) =>
      post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...params } }),
    initialize: async (params: object = {}, headers: Record<string, string> = {}) => {
      const response = await post(initializeMessage(params), headers)
      sessionId = response.headers.get('mcp-session-id') ?? undefined
      if (sessionId !== undefined) await post({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return response
    },
    sessionId: () => String(sessionId),
    useSession: (id: string) => {
      sessionId = id
    },
  }
}

export function initializeMessage(params: object = {}) {
  const base = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  return { jsonrpc: '2.0', id: 'init', method: 'initialize', params: { ...base, ...params } }
}

/** Returns the body of an MCP 2026 request, and the headers that repeat its protocol version, method and tool name. */
export function modernRequest(method: string, params: Record<string, unknown> = {}, more: { _meta?: object } = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...more._meta,
  }
  const headers: Record<string, string> = { 'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': method }
  if (typeof params.name === 'string') headers['Mcp-Name'] = params.name
  return { body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }, headers }
}

export interface StreamEvent {
  id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields of messages without checks.
  message: any
}

/** Yields the server-sent events of a response, without its comments. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  if (response.body === null) return
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true })
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) {
      const line = (name: string) =>
        part
          .split('\n')
          .find((each) => each.startsWith(`${name}: `))
          ?.slice(name.length + 2)
      const data = line('data')
      if (data === undefined && line('id') === undefined) continue
      yield { id: line('id'), message: data === undefined || data === '' ? undefined : JSON.parse(data) }
    }
  }
}

export async function allEvents(response: Response): Promise<StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of eventsOf(response)) events.push(event)
  return events
}

// biome-ignore lint/suspicious/noExplicitAny: tests read the fields of answers without checks.
export async function jsonOf(response: Response): Promise<any> {
  return response.json()
}

/** Returns the value that a tool of the test server returned. `message` is the JSON-RPC response to the call. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the fields of results without checks.
export function resultOf(message: any): any {
  return JSON.parse(message.result.content[0].text)
}
