import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Logger } from '../config/log.ts'
import { type BodyBounds, BodyBudget } from '../core/body-budget.ts'
import { Failure } from '../core/errors.ts'
import { ConnectionCutError } from '../core/faults.ts'
import { isLoopback, isLoopbackHost } from '../core/loopback.ts'
import { deadline, newId, type System } from '../core/system.ts'
import { BodyAdmission } from './request/body-admission.ts'
import { type Caller, clientAddress } from './request/client-address.ts'
import { answerEarly } from './request/early-responses.ts'
import { logRefusal } from './request/log-refusal.ts'
import { refusal, requestId } from './request/reply.ts'

export interface ListenOptions {
  fetch: (request: Request, caller: Caller) => Promise<Response>
  host: string
  /** The port to listen on; 0 picks any free port. */
  port: number
  /** The URL that clients use, such as the URL of a proxy, if it differs from the listener's own URL. */
  publicUrl?: string | undefined
  /** Returns whether pages on this machine and pages from `allowedOrigins` may call this path. */
  corsPaths?: (path: string) => boolean
  /** Returns whether pages of any site may read this path, because its document is public and the same for everyone. */
  publicPaths?: (path: string) => boolean
  /** Other sites whose pages may call this server, such as `https://inspector.example`. */
  allowedOrigins?: readonly string[]
  /**
   * Addresses and ranges of trusted proxies, such as `10.0.0.0/8`. Their X-Forwarded-For headers identify the client.
   */
  trustedProxies?: readonly string[]
  /** Returns whether the process is shutting down. Every response then closes its connection. */
  isEnding?: () => boolean
  /** How long `close` waits for requests in progress, in milliseconds. */
  closeWithinMs?: number
  /** The maximum number of connections. Any further connection is closed immediately. */
  maxConnections?: number
  /** The limits on request bodies that are being read at the same time. */
  bodyBounds?: BodyBounds
  system: System
  log: Logger
}

export interface Listener {
  /** The URL of the listener, without a trailing slash. */
  url: string
  /** The budget for request bodies. `held` is the number of bytes that are being read now. */
  bodies: Pick<BodyBudget, 'held'>
  /**
   * Stops accepting requests. Resolves once all requests in progress are answered. After `closeWithinMs`, cuts off the
   * requests that are still in progress.
   */
  close(): Promise<void>
}

/**
 * The time limits for receiving a request. A well-behaved client sends all headers without a pause; the body may take
 * longer.
 */
const receiveLimits = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 }

/**
 * `keepAliveTimeout` exceeds the 60 s after which most proxies close an idle connection: if the server closed the
 * connection first, a request that a proxy sends at that moment would be lost. `highWaterMark` limits the buffer of an
 * unread body to one chunk.
 */
const timeouts = { ...receiveLimits, keepAliveTimeout: 75_000, highWaterMark: 16 * 1024 }

const defaultBounds = { closeWithinMs: 5_000, maxConnections: 10_000 }

/**
 * The Strict-Transport-Security header: one year (RFC 6797 section 6.1.1). Subdomains are not included, because they
 * may belong to somebody else.
 */
const strictTransport = 'max-age=31536000'

/**
 * Serves a fetch function over HTTP. Requests whose Host header names another site get a 403. So do requests from
 * another site's pages, unless the options allow them.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { fetch, host, port, system, log, bodyBounds } = options
  const { closeWithinMs, maxConnections } = { ...defaultBounds, ...options }
  const refusedCaller = callerCheck(options)
  const addressOf = clientAddress(options.trustedProxies ?? [])
  const bodies = new BodyBudget(bodyBounds)
  const prepare = createPreparation(options)
  const admission = new BodyAdmission({ bodies, addressOf, prepare, log })
  const guardedAnswer = async (request: Request, connection: unknown) => {
    const beganAtMs = system.elapsed()
    const { incoming, outgoing } = connection as HttpBindings
    const supportId = prepare(outgoing)
    const detail = refusedCaller(request)
    const answered =
      detail === undefined
        ? fetch(request, { local: isLocal(incoming), address: addressOf(incoming), body: admission.bodyOf(incoming) })
        : refusalResponse(new Failure('forbidden', { detail }), supportId)
    const response = await undefinedIfCut(answered).finally(() => admission.bodyOf(incoming)?.end())
    if (response === undefined) {
      // The socket itself is destroyed, because destroying a fully read request would leave the socket open.
      incoming.socket.destroy()
      return RESPONSE_ALREADY_SENT
    }
    answerEarly(incoming, outgoing)
    await logRefusal(log, { request, response, supportId, ms: system.elapsed() - beganAtMs })
    return response
  }
  const serve = getRequestListener(guardedAnswer)
  const server = createServer(timeouts, (incoming, outgoing) => {
    if (admission.admit(incoming, outgoing)) serve(incoming, outgoing)
  })
  server.maxConnections = maxConnections
  let closing = false
  let running = 0
  // While the listener is closing, ends idle connections. Once no request is running, ends all other connections too,
  // so that none of them delays the closing.
  const closeUnused = () => {
    if (!closing) return
    if (running === 0) server.closeAllConnections()
    else server.closeIdleConnections()
  }
  server.on('request', (_request, response: ServerResponse) => {
    running += 1
    response.once('close', () => {
      running -= 1
      closeUnused()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const { port: boundPort } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    bodies,
    close: () =>
      new Promise((resolve, reject) => {
        closing = true
        // A client that sends half a body or reads half a response must not keep the process alive.
        const timer = deadline(closeWithinMs, () => server.closeAllConnections())
        server.close((error) => {
          timer.clear()
          if (error === undefined) resolve()
          else reject(error)
        })
        closeUnused()
      }),
  }
}

/**
 * Returns a function that prepares the response to a request: it sets the headers that all responses share, and returns
 * the request's support id.
 */
function createPreparation({ system, publicUrl, isEnding }: ListenOptions) {
  return (outgoing: ServerResponse): string => {
    const supportId = newId('req', system, system.now())
    if (publicUrl?.startsWith('https:')) outgoing.setHeader('Strict-Transport-Security', strictTransport)
    if (isEnding?.()) outgoing.setHeader('Connection', 'close')
    // Headers set by the response itself take precedence over these.
    for (const [name, value] of Object.entries(requestId(supportId))) outgoing.setHeader(name, value)
    return supportId
  }
}

/** Returns the response, or undefined if the connection must be cut. */
async function undefinedIfCut(answered: Response | Promise<Response>): Promise<Response | undefined> {
  try {
    return await answered
  } catch (error) {
    if (error instanceof ConnectionCutError) return undefined
    throw error
  }
}

function refusalResponse(failure: Failure, supportId: string): Response {
  const { status, body, headers } = refusal(failure, supportId)
  return new Response(body, { status, headers: { 'Content-Type': 'application/json', ...headers } })
}

const ownAddress = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/
/** The headers that proxies add. If a proxy on this machine adds none of these headers, its requests count as local. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * Returns whether the request comes from this machine, without a proxy. The Host header does not matter, because anyone
 * can put a local name into it.
 */
function isLocal({ socket, headers }: HttpBindings['incoming']): boolean {
  return ownAddress.test(socket.remoteAddress ?? '') && !proxyHeaders.some((name) => name in headers)
}

/**
 * Returns whether pages from this origin may call the server: the origin must be on this machine or in
 * `allowedOrigins`.
 */
export function isAllowedOrigin(origin: string, allowedOrigins: readonly string[]): boolean {
  const url = URL.parse(origin)
  if (url === null || url.origin !== origin) return false
  return (/^https?:$/.test(url.protocol) && isLoopback(origin)) || allowedOrigins.includes(origin)
}

/**
 * Creates a function that returns why a request must be refused; undefined if the request may be answered. The Host
 * header reveals DNS rebinding, where another site's name resolves to this machine. The Origin header reveals requests
 * from another site's pages.
 */
function callerCheck({ host: boundHost, publicUrl, corsPaths, publicPaths, allowedOrigins = [] }: ListenOptions) {
  const publicAddress = publicUrl === undefined ? undefined : new URL(publicUrl)
  return ({ headers, method, url }: Request): string | undefined => {
    const host = headers.get('host')
    const name = host === null ? undefined : URL.parse(`http://${host}`)?.hostname
    const isOwn = name !== undefined && isOwnName(name, boundHost)
    if (!isOwn && (name === undefined || name !== publicAddress?.hostname)) {
      return 'The Host header does not name this server. Use the URL that the server printed when it started.'
    }
    const origin = headers.get('origin')
    if (origin === null || origin === publicAddress?.origin) return undefined
    // Only the hosts are compared here, so the schemes may differ. For the public URL (above), the scheme must match
    // too, because an attacker on the network can forge HTTP pages.
    if (isOwn && URL.parse(origin)?.host === host) return undefined
    const { pathname } = new URL(url)
    if (corsPaths?.(pathname) === true && isAllowedOrigin(origin, allowedOrigins)) return undefined
    if (publicPaths?.(pathname) === true && readMethods.test(method)) return undefined
    return 'The Origin header names another site. This server refuses requests from pages of other sites.'
  }
}

/** The methods that only read. A browser may send OPTIONS, a preflight request, before it reads. */
const readMethods = /^(?:GET|HEAD|OPTIONS)$/

function isOwnName(name: string, boundHost: string): boolean {
  const bound = boundHost.includes(':') ? `[${boundHost}]` : boundHost.toLowerCase()
  if (isLoopbackHost(name) || name === bound) return true
  // A server that listens on every address accepts any IP address in the Host header. This is safe, because DNS
  // rebinding needs a name.
  return (bound === '0.0.0.0' || bound === '[::]') && (/^\d+\.\d+\.\d+\.\d+$/.test(name) || name.startsWith('['))
}
