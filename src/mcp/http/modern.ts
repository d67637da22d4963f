import { AsyncLocalStorage } from 'node:async_hooks'
import { createMcpHandler, type JSONRPCMessage, type Server, type ServerEvent } from '@modelcontextprotocol/server'
import type { Log } from '../../client/client.ts'
import { ConnectionCutError } from '../../core/faults.ts'
import { listenedAddresses } from '../listen-request.ts'
import { type EventResponse, eventResponseFrom } from './event-response.ts'
import type { HostContext, Principal } from './host-context.ts'
import type { Limits } from './limits.ts'
import { refusalResponse, rpc, streamResponse } from './responses.ts'

export type ModernEra = ReturnType<typeof createModernEra>

/** The context of a request, without the members that this module adds. */
type RequestContext = Omit<HostContext, 'era' | 'cut'>

/** A principal that listens for events, and the function that notifies it. */
export interface Subscription {
  principal: Principal
  notify(event: ServerEvent): void
}

interface ModernEraOptions {
  createServer: (context: HostContext) => Server
  limits: Limits
  log: Log
  /** Starts to watch the party for changes. The returned promise is awaited before a subscription begins. */
  begin(partyId: string): Promise<void>
}

/**
 * The parts of a request that the SDK's handler reads, and the context, which the handler passes on to `createServer`.
 */
interface Head extends Pick<Request, 'method' | 'headers' | 'signal'> {
  context: HostContext
}

/**
 * Creates the handler of MCP 2026 requests. The requests are independent of each other, so any process can serve each.
 */
export function createModernEra({ createServer, limits, log, begin }: ModernEraOptions) {
  const bus = createBus()
  const handler = createMcpHandler(({ requestInfo }) => createServer((requestInfo as unknown as Head).context), {
    legacy: 'reject',
    bus: bus.handlerBus,
    maxSubscriptions: limits.sessions,
    keepAliveMs: limits.heartbeatMs,
    onerror: (error) => log.warn({ err: error }, 'MCP request'),
  })
  let running = 0
  let waiting: (() => void)[] = []
  const onClose = () => {
    running -= 1
    if (running > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }
  const serve = async (
    { method, headers, signal }: Request,
    message: JSONRPCMessage,
    context: RequestContext,
    cut = () => {},
  ) => {
    const head: Head = { method, headers, signal, context: { ...context, era: 'modern', cut } }
    return handler.fetch(head as unknown as Request, { parsedBody: message })
  }
  return {
    fetch: async (request: Request, message: JSONRPCMessage, context: RequestContext): Promise<Response> => {
      const principal = context.principal()
      if ('method' in message && message.method === 'subscriptions/listen') {
        if (bus.count(principal.id) >= limits.sessionsPerPrincipal) return tooManySubscriptions(message)
        await begin(principal.partyId)
        const subscriber: Subscriber = { principal, uris: new Set(listenedAddresses(message)), end: () => {} }
        const response = await bus.runAs(subscriber, () => serve(request, message, context))
        const attachStream = (events: EventResponse) => {
          subscriber.end = () => events.end()
        }
        return carryResponse(response, limits, { attachStream })
      }
      running += 1
      const connection = new Connection(onClose)
      const { cut } = connection
      return connection.unlessCut(async () =>
        carryResponse(await serve(request, message, context, cut), limits, connection),
      )
    },
    /** Notifies all subscriptions, or only those of one principal, of a change. */
    notify: bus.publish,
    /** Lists the principals that listen. */
    listening: () => bus.subscribers().map(({ principal }) => principal),
    /** Ends the streams of credentials that are no longer valid. With `principals`, checks only their streams. */
    recheck: async (isValid: (credential: string) => Promise<boolean>, principals?: ReadonlySet<string>) => {
      for (const { principal, end } of bus.subscribers()) {
        if (principals?.has(principal.id) !== false && !(await isValid(principal.credential))) end()
      }
    },
    /** Lists the subscriptions to the resource at an address. */
    subscribed: bus.subscribed,
    /** Resolves when no request is running. Subscriptions do not count, because they run until they are closed. */
    idle: async () => {
      if (running > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    close: handler.close,
  }
}

/** The connection over which a request is answered. */
class Connection {
  /** Called once, when the connection is over. */
  readonly #onOver: () => void
  readonly #cut = Promise.withResolvers<never>()
  #events: EventResponse | undefined
  #isOver = false

  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  readonly cut = (): void => {
    this.#events?.end()
    this.#cut.reject(new ConnectionCutError())
  }

  /** Returns the answer. @throws ConnectionCutError if the connection is cut first. */
  async unlessCut(answer: () => Promise<Response>): Promise<Response> {
    try {
      return await Promise.race([answer(), this.#cut.promise])
    } catch (error) {
      this.end()
      throw error
    }
  }

  attachStream(events: EventResponse): void {
    this.#events = events
    events.ended.addEventListener('abort', () => this.end(), { once: true })
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onOver()
  }
}

/**
 * Passes on the SDK's response, and limits how many of its bytes may wait unread. Tells `connection` when the response
 * ends.
 */
async function carryResponse(
  response: Response,
  { unreadBytes }: Limits,
  connection: Partial<Pick<Connection, 'attachStream' | 'end'>>,
): Promise<Response> {
  const { status, body } = response
  if (body !== null && response.headers.get('content-type') === 'text/event-stream') {
    const events = eventResponseFrom(body, unreadBytes)
    connection.attachStream?.(events)
    return streamResponse(events.body)
  }
  // The HTTP layer writes a string immediately, but a stream only in later iterations of the event loop.
  const text = body === null ? null : await response.text()
  connection.end?.()
  return new Response(text, { status, ...(text === null ? {} : { headers: { 'Content-Type': 'application/json' } }) })
}

/** Creates a bus that sends events to subscriptions: to those of one principal, or to all of them. */
function createBus() {
  const current = new AsyncLocalStorage<Subscriber>()
  const listeners = new Map<(event: ServerEvent) => void, Subscriber | undefined>()
  const publish = (event: ServerEvent, principalId?: string) => {
    for (const [listener, host] of listeners) {
      if (principalId === undefined || host?.principal.id === principalId) listener(event)
    }
  }
  return {
    handlerBus: {
      publish: (event: ServerEvent) => publish(event),
      subscribe: (listener: (event: ServerEvent) => void) => {
        listeners.set(listener, current.getStore())
        return () => void listeners.delete(listener)
      },
    },
    publish,
    subscribers: () => [...listeners.values()].filter((host) => host !== undefined),
    subscribed: (uri: string) =>
      [...listeners].flatMap(([notify, host]) => (host?.uris.has(uri) ? [{ principal: host.principal, notify }] : [])),
    runAs: <T>(host: Subscriber, work: () => T): T => current.run(host, work),
    count: (principalId: string) => [...listeners.values()].filter((host) => host?.principal.id === principalId).length,
  }
}

interface Subscriber {
  principal: Principal
  uris: ReadonlySet<string>
  /** Ends the stream of the subscription. */
  end(): void
}

function tooManySubscriptions(message: JSONRPCMessage): Response {
  const id = 'id' in message ? (message.id ?? null) : null
  return refusalResponse({
    status: 429,
    code: rpc.server,
    message: 'Too many subscriptions of this credential are open. Close one before opening another.',
    id,
    headers: { 'Retry-After': '5' },
  })
}
