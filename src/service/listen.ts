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
import { answerEarly } from './request/early-answers.ts'
import { logRefusal } from './request/log-refusal.ts'
import { refusal, requestId } from './request/reply.ts'

export interface ListenOptions {
  fetch: (request: Request, caller: Caller) => Promise<Response>
  host: string
  /** 0 takes any free port. */
  port: number
  /** The address that people reach it at where that is another one, such as a proxy's. */
  publicUrl?: string | undefined
  /** Which paths pages of other sites may call: those on this machine, and of `allowedOrigins`. */
  corsPaths?: (path: string) => boolean
  /** Which documents pages of any site may read: what is public, and the same for everybody. */
  publicPaths?: (path: string) => boolean
  /** Such as `https://inspector.example`. */
  allowedOrigins?: readonly string[]
  /**
   * Addresses and ranges of the proxies in front, such as `10.0.0.0/8`: their X-Forwarded-For tells who the client is.
   */
  trustedProxies?: readonly string[]
  /** From then on each answer says that the connection is used no more. */
  isEnding?: () => boolean
  /** How long `close` waits for answers that are under way. */
  closeWithinMs?: number
  /** Beyond it a new connection is closed at once. */
  mostConnections?: number
  /** The most bytes of request bodies that are read at one time. */
  bodyBounds?: BodyBounds
  system: System
  log: Logger
}

export interface Listener {
  /** The address to reach it at, without a slash at its end. */
  url: string
  /** The request bytes that are being read now. */
  bodies: Pick<BodyBudget, 'held'>
  /** Stops taking requests and resolves when those under way are answered, or cut off after a while. */
  close(): Promise<void>
}

/** A request's head comes in one piece from any host that means well; its body may take its time. */
const arriving = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 }

/**
 * A connection is kept longer than proxies do, 60 s as a rule: who sends on one that is just being closed loses the request.
 * Of a body that nobody reads yet, one part is taken in and no second one.
 */
const timeouts = { ...arriving, keepAliveTimeout: 75_000, highWaterMark: 16 * 1024 }

const defaultBounds = { closeWithinMs: 5_000, mostConnections: 10_000 }

/** A year (RFC 6797 section 6.1.1), of this host alone: its subdomains may be somebody else's. */
const strictTransport = 'max-age=31536000'

/** Serves a fetch function over HTTP. Whoever was led here by another site's name or page is refused with 403. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { fetch, host, port, system, log, bodyBounds } = options
  const { closeWithinMs, mostConnections } = { ...defaultBounds, ...options }
  const refusedCaller = callerCheck(options)
  const addressOf = clientAddress(options.trustedProxies ?? [])
  const bodies = new BodyBudget(bodyBounds)
  const prepare = preparing(options)
  const admission = new BodyAdmission({ bodies, addressOf, prepare, log })
  const guarded = async (request: Request, connection: unknown) => {
    const beganAtMs = system.elapsed()
    const { incoming, outgoing } = connection as HttpBindings
    const supportId = prepare(outgoing)
    const detail = refusedCaller(request)
    const answered =
      detail === undefined
        ? fetch(request, { local: isLocal(incoming), address: addressOf(incoming), body: admission.bodyOf(incoming) })
        : refusedAs(new Failure('forbidden', { detail }), supportId)
    const response = await unlessCut(answered).finally(() => admission.bodyOf(incoming)?.end())
    if (response === undefined) {
      // A request that was read whole lets go of its socket without ending it.
      incoming.socket.destroy()
      return RESPONSE_ALREADY_SENT
    }
    answerEarly(incoming, outgoing)
    await logRefusal(log, { request, response, supportId, ms: system.elapsed() - beganAtMs })
    return response
  }
  const serve = getRequestListener(guarded)
  const server = createServer(timeouts, (incoming, outgoing) => {
    if (admission.admit(incoming, outgoing)) serve(incoming, outgoing)
  })
  server.maxConnections = mostConnections
  let closing = false
  let running = 0
  // Whoever has no request under way, or has sent only a part of one, keeps a closing server waiting for nothing.
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
        // Whoever sends half of a body, or reads half of an answer, does not keep a process from ending.
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

/** Returns what sets the headers that every answer has, and gives the request's support id. */
function preparing({ system, publicUrl, isEnding }: ListenOptions) {
  return (outgoing: ServerResponse): string => {
    const supportId = newId('req', system, system.now())
    if (publicUrl?.startsWith('https:')) outgoing.setHeader('Strict-Transport-Security', strictTransport)
    if (isEnding?.()) outgoing.setHeader('Connection', 'close')
    // A header that the answer itself sets takes precedence over these.
    for (const [name, value] of Object.entries(requestId(supportId))) outgoing.setHeader(name, value)
    return supportId
  }
}

/** Undefined: the connection is to be cut. */
async function unlessCut(answered: Response | Promise<Response>): Promise<Response | undefined> {
  try {
    return await answered
  } catch (error) {
    if (error instanceof ConnectionCutError) return undefined
    throw error
  }
}

function refusedAs(failure: Failure, supportId: string): Response {
  const { status, body, headers } = refusal(failure, supportId)
  return new Response(body, { status, headers: { 'Content-Type': 'application/json', ...headers } })
}

const ownAddress = /^(?:::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/
/** What proxies add. One that adds nothing cannot be told from a person at this machine. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/** The address of the connection counts: anybody can write a name of this machine into Host. */
function isLocal({ socket, headers }: HttpBindings['incoming']): boolean {
  return ownAddress.test(socket.remoteAddress ?? '') && !proxyHeaders.some((name) => name in headers)
}

/** Whether pages of that origin may call where pages of other sites may. */
export function isAllowedOrigin(origin: string, allowedOrigins: readonly string[]): boolean {
  const url = URL.parse(origin)
  if (url === null || url.origin !== origin) return false
  return (/^https?:$/.test(url.protocol) && isLoopback(origin)) || allowedOrigins.includes(origin)
}

/**
 * Tells why a request must not be served, undefined when it may: a name that was rebound to this machine stands in
 * Host, a page of another site in Origin.
 */
function callerCheck({ host: boundHost, publicUrl, corsPaths, publicPaths, allowedOrigins = [] }: ListenOptions) {
  const publicAddress = publicUrl === undefined ? undefined : new URL(publicUrl)
  return ({ headers, method, url }: Request): string | undefined => {
    const host = headers.get('host')
    const name = host === null ? undefined : URL.parse(`http://${host}`)?.hostname
    const isOwn = name !== undefined && isOwnName(name, boundHost)
    if (!isOwn && (name === undefined || name !== publicAddress?.hostname)) {
      return 'The Host header does not name this server. Use the address that it printed when it started.'
    }
    const origin = headers.get('origin')
    if (origin === null || origin === publicAddress?.origin) return undefined
    // The public address counts with its own scheme only: a page that came over plain HTTP may be anybody's.
    if (isOwn && URL.parse(origin)?.host === host) return undefined
    const { pathname } = new URL(url)
    if (corsPaths?.(pathname) === true && isAllowedOrigin(origin, allowedOrigins)) return undefined
    if (publicPaths?.(pathname) === true && reading.test(method)) return undefined
    return 'The Origin header names another site than this server. Requests of its pages are not served.'
  }
}

/** OPTIONS asks in a browser's name whether it may read. */
const reading = /^(?:GET|HEAD|OPTIONS)$/

function isOwnName(name: string, boundHost: string): boolean {
  const bound = boundHost.includes(':') ? `[${boundHost}]` : boundHost.toLowerCase()
  if (isLoopbackHost(name) || name === bound) return true
  // Bound to every address: any of them may stand in Host, but no name, for only names can be rebound.
  return (bound === '0.0.0.0' || bound === '[::]') && (/^\d+\.\d+\.\d+\.\d+$/.test(name) || name.startsWith('['))
}
