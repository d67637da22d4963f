import {
  CLIENT_INFO_META_KEY,
  isJsonContentType,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type Server,
  type ServerEvent,
} from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { bearerOf } from '../../core/bearer.ts'
import type { ArrivingBody } from '../../core/body-budget.ts'
import type { Failure } from '../../core/errors.ts'
import { ConnectionCutError } from '../../core/faults.ts'
import type { SessionStore } from '../../core/session-store.ts'
import { newSecret, type System } from '../../core/system.ts'
import { Announcer } from './announcer.ts'
import { readJson } from './body.ts'
import { type Challenge, insufficientScope, lacksScopes, unauthorized } from './challenge.ts'
import type { Changes } from './changed-addresses.ts'
import { classify } from './classify.ts'
import { preflight, withCors } from './cors.ts'
import { createHeartbeats, type Heartbeats } from './heartbeats.ts'
import type { HostContext, Principal } from './host-context.ts'
import { chosenInstanceId, stableInstanceId } from './instance-id.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { createModernEra, type ModernEra } from './modern.ts'
import { methodNotAllowed, notAcceptable, stoppingResponse, tooManyRequests, unsupportedVersion } from './refusals.ts'
import { refusalResponse, rpc, sessionNotFound } from './responses.ts'
import { type Session, Sessions } from './sessions.ts'
import { type Surface, surfaceOf } from './surface.ts'
import { createSweeper, type Sweeper } from './sweeper.ts'

export interface EndpointDependencies {
  /** Returns the holder of a bearer credential; undefined if it is not valid. Called for every request. */
  authorize(credential: string): Promise<Principal | undefined>
  /** Counts a request from the principal; `failure` is set if the request exceeds the rate limit. */
  limit(principal: Principal): Promise<{ headers: Readonly<Record<string, string>>; failure: Failure | undefined }>
  /** Creates the MCP server for one MCP 2025 session or one MCP 2026 request. */
  createServer(context: HostContext): Server
  sessions: SessionStore
  /** The feeds of changes, including changes made by other processes. */
  changes: Changes
  /** Returns the data that a host needs to sign in at the address to which it sent the request. */
  challenge(request: Request): Challenge
  /** Returns the OAuth scopes that a JSON-RPC message needs, if any. */
  scopesFor(message: unknown): readonly string[]
  /**
   * Returns whether a message to a host must not be stored for resuming a stream. If the message is an answer,
   * `request` is the request that it answers.
   */
  isSecret: (message: JSONRPCMessage, request: JSONRPCRequest | undefined) => boolean
  /** The secret that signs the ids of requests to hosts. All processes that share a store need the same secret. */
  sealKey: string
  /**
   * Returns whether pages from the origin may read the responses. The listener refuses requests from forbidden origins
   * before they reach this endpoint.
   */
  allowsOrigin: (origin: string) => boolean
  system: System
  log: Log
  limits?: Partial<Limits>
}

/** MCP over Streamable HTTP. One address serves both MCP 2026 (without sessions) and MCP 2025 (with sessions). */
export class McpEndpoint {
  readonly #dependencies: EndpointDependencies
  readonly #limits: Limits
  readonly #heartbeats: Heartbeats
  readonly #sweeper: Sweeper
  readonly #sessions: Sessions
  readonly #modern: ModernEra
  readonly #announcer: Announcer
  #closing = false

  constructor(dependencies: EndpointDependencies) {
    const { system, log, sessions: store, sealKey } = dependencies
    const limits: Limits = { ...defaultLimits, ...dependencies.limits }
    this.#dependencies = dependencies
    this.#limits = limits
    this.#heartbeats = createHeartbeats(limits.heartbeatMs, () => this.#beat())
    this.#sweeper = createSweeper({ store, system, limits, log })
    const { createServer, isSecret } = dependencies
    const [heartbeats, sweeper] = [this.#heartbeats, this.#sweeper]
    this.#sessions = new Sessions({ createServer, store, system, limits, heartbeats, sweeper, isSecret, sealKey, log })
    this.#modern = createModernEra({ createServer, limits, log, begin: (partyId) => this.#announcer.begin(partyId) })
    const [sessions, modern] = [this.#sessions, this.#modern]
    const { authorize, changes } = dependencies
    this.#announcer = new Announcer({ sessions, modern, store, changes, authorize, system, limits, log })
  }

  /**
   * Serves a request.
   * @param arriving Counts the body while it arrives; undefined if the body is already in this process's memory.
   */
  async fetch(request: Request, arriving?: ArrivingBody): Promise<Response> {
    const { allowsOrigin, log } = this.#dependencies
    const origin = request.headers.get('origin')
    const readable = origin !== null && allowsOrigin(origin)
    if (request.method === 'OPTIONS' && readable) return preflight(origin)
    const response = await serveOrRefuse(() => this.#serve(request, arriving), log)
    return readable ? withCors(response, origin) : response
  }

  /** Notifies the hosts of one principal, or all hosts, of a change. */
  notify(event: ServerEvent, principalId?: string): void {
    this.#announcer.notify(event, principalId)
  }

  /** Checks for changes soon instead of at the next poll, and notifies hosts that listen. */
  wake(): void {
    this.#announcer.wake()
  }

  /** Counts the sessions that this process serves, and the open streams of these sessions. */
  load(): { sessions: number; streams: number } {
    const localSessions = [...this.#sessions.local()]
    return {
      sessions: localSessions.length,
      streams: localSessions.reduce((sum, { streams }) => sum + streams.openCount(), 0),
    }
  }

  /** Waits a limited time for running requests, then closes the streams. */
  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    const timer = new AbortController()
    const idle = [this.#modern.idle(), ...[...this.#sessions.local()].map(({ transport }) => transport.idle())]
    const drained = this.#dependencies.system.sleep(this.#limits.drainMs, timer.signal).catch(() => {})
    await Promise.race([Promise.all(idle), drained])
    timer.abort()
    this.#heartbeats.close()
    await Promise.all([this.#announcer.close(), this.#modern.close(), this.#sessions.close(), this.#sweeper.close()])
  }

  #beat(): void {
    this.#sessions.sweep()
    // A host may read a stream for hours without another request, so the host's credential is checked at intervals.
    this.#announcer.recheck()
  }

  async #serve(request: Request, arriving: ArrivingBody | undefined): Promise<Response> {
    const { authorize, limit, challenge } = this.#dependencies
    if (this.#closing) return stoppingResponse()
    const surface = surfaceOf(pathOf(request.url), request.headers)
    if ('problem' in surface) {
      return refusalResponse({ status: surface.status, code: rpc.invalidRequest, message: surface.problem })
    }
    // A credential is accepted only in the Authorization header, not in the URL, because URLs end up in logs.
    const credential = bearerOf(request.headers.get('authorization'))
    const principal = credential === undefined ? undefined : await authorize(credential)
    if (principal === undefined) return unauthorized(challenge(request), request.headers.has('authorization'))
    const { headers, failure } = await limit(principal)
    if (failure !== undefined) return tooManyRequests(failure, headers)
    if (request.method === 'POST') return this.#post(request, principal, surface, arriving)
    if (request.method !== 'GET' && request.method !== 'DELETE') return methodNotAllowed()
    // GET and DELETE exist only in MCP 2025, and there they need the id of a session.
    if (!request.headers.has('mcp-session-id')) return methodNotAllowed('POST')
    const session = await this.#sessionOf(request, principal)
    if (session instanceof Response) return session
    if (request.method === 'GET') {
      await this.#announcer.begin(session.partyId)
      return listen(request, session)
    }
    await this.#sessions.end(session)
    return new Response(null, { status: 204 })
  }

  async #post(
    request: Request,
    principal: Principal,
    surface: Surface,
    arriving: ArrivingBody | undefined,
  ): Promise<Response> {
    const { scopesFor, challenge } = this.#dependencies
    if (!isJsonContentType(request.headers.get('content-type'))) {
      return refusalResponse({ status: 415, code: rpc.server, message: 'Send Content-Type: application/json.' })
    }
    const body = await readJson(request, this.#limits.bodyBytes, arriving?.byKey(principal.id))
    if (!('json' in body)) return refusalResponse(body)
    const message = body.json as JSONRPCMessage
    const route = classify(request, message)
    if (route.kind === 'reject') {
      const { httpStatus: status, code, message: words, data } = route
      return refusalResponse({ status, code, message: words, data, id: requestIdOf(message) })
    }
    const needed = scopesFor(message)
    if (lacksScopes(principal, needed)) return insufficientScope(challenge(request), principal.scopes ?? [], needed)
    if (route.kind === 'modern') return this.#serveModern(request, message, principal, surface)
    if (!acceptsBoth(request.headers)) return notAcceptable('application/json and text/event-stream')
    if (route.reason === 'batch') {
      return refusalResponse({
        status: 400,
        code: rpc.invalidRequest,
        message: 'Send one message per request, not a batch.',
      })
    }
    if (route.reason === 'initialize') return this.#initialize(request, message as JSONRPCRequest, principal, surface)
    const session = await this.#sessionOf(request, principal)
    if (session instanceof Response) return session
    if (requestIdOf(message) === null) return session.transport.receive(message)
    const withFirstEvent = understandsEmptyEvents(request.headers)
    return session.transport.request(message as JSONRPCRequest, request, body.characters, withFirstEvent)
  }

  #serveModern(request: Request, message: JSONRPCMessage, principal: Principal, surface: Surface) {
    const params = 'method' in message ? message.params : undefined
    const chosen = chosenInstanceId(request.headers, params)
    if ('problem' in chosen) return badInstanceId(chosen.problem, message)
    const clientInfo = params?._meta?.[CLIENT_INFO_META_KEY]
    const instanceId = chosen.id ?? stableInstanceId(principal, clientInfo)
    const isOneRun = chosen.id !== undefined
    const context = { ...surface, principal: () => principal, instanceId, isOneRun }
    return this.#modern.fetch(request, message, context)
  }

  #initialize(
    request: Request,
    message: JSONRPCRequest,
    principal: Principal,
    surface: Surface,
  ): Promise<Response> | Response {
    if (request.headers.has('mcp-session-id')) {
      const words = 'initialize starts a new session. Send it without Mcp-Session-Id.'
      return refusalResponse({ status: 400, code: rpc.invalidRequest, message: words, id: message.id })
    }
    const chosen = chosenInstanceId(request.headers, message.params)
    if ('problem' in chosen) return badInstanceId(chosen.problem, message)
    const instanceId = chosen.id ?? `run_${newSecret(this.#dependencies.system, 16)}`
    const run = { instanceId, isOneRun: chosen.id !== undefined }
    return this.#sessions.open(principal, message, surface, run)
  }

  async #sessionOf({ headers }: Request, principal: Principal): Promise<Session | Response> {
    const id = headers.get('mcp-session-id')
    if (id === null) {
      const message = 'Mcp-Session-Id is missing. Send the session id from the response to initialize.'
      return refusalResponse({ status: 400, code: rpc.server, message })
    }
    const session = await this.#sessions.find(id, principal)
    if (session === undefined) return sessionNotFound()
    return unsupportedVersion(headers.get('mcp-protocol-version')) ?? session
  }
}

/**
 * Serves a request. If an unexpected error occurs, logs the error and responds without its details.
 * @throws ConnectionCutError if the connection must be cut without a response.
 */
async function serveOrRefuse(serve: () => Promise<Response>, log: Log): Promise<Response> {
  try {
    return await serve()
  } catch (error) {
    // The caller of `fetch` catches this error and cuts the connection.
    if (error instanceof ConnectionCutError) throw error
    log.error({ err: error }, 'MCP request failed')
    const [status, message] = isBusy(error)
      ? [503, 'The database is busy or cannot be reached. Send the request again in a moment.']
      : [500, 'The server failed. Send the request again.']
    return refusalResponse({ status, code: rpc.internal, message, headers: { 'Retry-After': '1' } })
  }
}

/** Recognizes the store's busy error by name, because code in src/mcp must not import the store. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && error.name === 'StoreBusyError'
}

/** Returns the path of an absolute URL. Parsing the whole URL would take longer. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2)
  const end = url.indexOf('?', start)
  return end === -1 ? url.slice(start) : url.slice(start, end)
}

/** Returns the id of a request; null for any other message. */
function requestIdOf(message: unknown): RequestId | null {
  if (typeof message !== 'object' || message === null || !('method' in message) || !('id' in message)) return null
  return typeof message.id === 'string' || typeof message.id === 'number' ? message.id : null
}

async function listen(request: Request, { streams }: Session): Promise<Response> {
  if (!request.headers.get('accept')?.includes('text/event-stream')) return notAcceptable('text/event-stream')
  return streams.listen(request.headers.get('last-event-id'), understandsEmptyEvents(request.headers))
}

function acceptsBoth(headers: Headers): boolean {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && accept.includes('text/event-stream')
}

/** Returns whether the host understands events without data, which MCP 2025-11-25 introduced. */
function understandsEmptyEvents(headers: Headers): boolean {
  return (headers.get('mcp-protocol-version') ?? '') >= '2025-11-25'
}

function badInstanceId(problem: string, request: JSONRPCMessage): Response {
  return refusalResponse({ status: 400, code: rpc.invalidRequest, message: problem, id: requestIdOf(request) })
}
