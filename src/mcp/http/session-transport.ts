import type {
  JSONRPCMessage,
  JSONRPCRequest,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server'
import type { Limits } from './limits.ts'
import { createMailbox, isRequestId, type MailboxOptions } from './mailbox.ts'
import { accepted, jsonResponse, refused, rpc, sessionNotFound } from './responses.ts'
import type { SessionStream } from './session-stream.ts'
import type { SessionStreams } from './session-streams.ts'

/** What carries a session's messages: the MCP server on one side, HTTP requests on the other. */
export interface SessionTransport extends Transport {
  /** Has a request answered; the message alone, for what is not a request of HTTP. */
  ask(message: JSONRPCRequest): Promise<JSONRPCMessage>
  /** Serves a POST that carries a request: JSON when only the answer comes, events as soon as something else does. */
  request(message: JSONRPCRequest, how: { primed: boolean; characters: number }): Promise<Response>
  /** Serves a POST that carries a notification or an answer of the host's. */
  receive(message: JSONRPCMessage): Promise<Response>
  /** The resources whose changes the host asked to be told. */
  isSubscribed(uri: string): boolean
  /** How many requests run. */
  running(): number
  /** Resolves when none runs. */
  idle(): Promise<void>
}

interface Exchange {
  request: JSONRPCRequest
  /** Of the request, which is kept while it runs. */
  characters: number
  answer(message: JSONRPCMessage): void
  /** The stream that the request is answered over, once something else than the answer goes first. */
  stream?: SessionStream
  openStream?: () => SessionStream
  /** Ends it without an answer. */
  drop(): void
  stopWaiting: () => void
}

export interface SessionTransportOptions extends Omit<MailboxOptions, 'receive'> {
  streams: SessionStreams
  limits: Pick<Limits, 'pollMs' | 'mailPerSession' | 'runningPerSession' | 'runningCharactersPerSession'>
  /** Whether a message must not be kept; `request` is what it answers or belongs to. */
  isSecret: (message: JSONRPCMessage, request: JSONRPCRequest | undefined) => boolean
}

export function createSessionTransport(options: SessionTransportOptions): SessionTransport {
  const { streams, limits, isSecret, log } = options
  const exchanges = new Map<RequestId, Exchange>()
  /** Requests to the host that wait for its answer, by the id that the host sees. */
  const asked = new Map<string, { id: RequestId; stopWaiting: () => void }>()
  let subscribed: readonly string[] = []
  let idleWaiters: (() => void)[] = []
  let closed = false

  const settle = (id: RequestId, exchange: Exchange) => {
    exchanges.delete(id)
    exchange.stopWaiting()
    if (exchanges.size === 0) for (const resolve of idleWaiters.splice(0)) resolve()
  }
  /** Takes what is for this process; true when it was. */
  const take = (message: JSONRPCMessage): boolean => {
    if ('method' in message) {
      if (message.method !== 'notifications/cancelled') return false
      const id = message.params?.requestId as RequestId
      const exchange = exchanges.get(id)
      if (exchange === undefined) return false
      transport.onmessage?.(message)
      // A cancelled request is never answered, so whoever waits for it is let go.
      settle(id, exchange)
      exchange.drop()
      return true
    }
    const waiting = asked.get(String(message.id))
    if (waiting === undefined) return false
    asked.delete(String(message.id))
    waiting.stopWaiting()
    transport.onmessage?.({ ...message, id: waiting.id })
    return true
  }
  const mailbox = createMailbox({ ...options, receive: (message) => void take(message) })

  const begin = (request: JSONRPCRequest, exchange: Omit<Exchange, 'request' | 'stopWaiting'>) => {
    exchanges.set(request.id, { ...exchange, request, stopWaiting: mailbox.wait() })
    transport.onmessage?.(request)
  }
  /** A message of the server's as the host sees it: requests of several processes need ids that differ. */
  const outward = (message: JSONRPCMessage): JSONRPCMessage => {
    if (!('method' in message)) return message
    if ('id' in message) {
      const id = mailbox.outwardId(message.id)
      asked.set(id, { id: message.id, stopWaiting: mailbox.wait() })
      return { ...message, id }
    }
    if (message.method !== 'notifications/cancelled') return message
    const requestId = mailbox.outwardId(message.params?.requestId as RequestId)
    asked.get(requestId)?.stopWaiting()
    asked.delete(requestId)
    return { ...message, params: { ...message.params, requestId } }
  }
  /** The stream that a message other than an answer goes out on; undefined when the host listens on none. */
  const streamFor = (message: JSONRPCMessage, related: RequestId | undefined): SessionStream | undefined => {
    if (related !== undefined) return streamOf(exchanges.get(related))
    const isRequest = 'id' in message
    const listened = streams.listened(isRequest)
    if (listened !== undefined || !isRequest) return listened
    // A host that opened no stream to listen on reads the one of its call; with a single one there is no doubt whose.
    return exchanges.size === 1 ? streamOf(exchanges.values().next().value) : undefined
  }

  const transport: SessionTransport = {
    start: async () => {},
    send: async (message, { relatedRequestId }: TransportSendOptions = {}) => {
      if (closed) throw new Error('The session has ended.')
      if (!('method' in message)) {
        const exchange = message.id === undefined ? undefined : exchanges.get(message.id)
        if (exchange === undefined || message.id === undefined) return
        settle(message.id, exchange)
        exchange.answer(message)
        return
      }
      const stream = streamFor(message, relatedRequestId)
      if (stream !== undefined) return stream.send(outward(message), { isSecret: isSecret(message, undefined) })
      if ('id' in message) throw new Error('The host has no stream open that it could be asked on.')
    },
    ask: (message) =>
      new Promise((resolve, reject) => {
        begin(message, {
          characters: 0,
          answer: resolve,
          drop: () => reject(new Error('The request was not answered.')),
        })
      }),
    request: (message, { primed, characters }) =>
      new Promise((resolve) => {
        if (closed) return resolve(sessionNotFound())
        const refusal = refusedRequest(message, characters, exchanges, limits)
        if (refusal !== undefined) return resolve(refusal)
        begin(message, {
          characters,
          answer(this: Exchange, answer) {
            // What the server refuses is not kept.
            if ('result' in answer) subscribed = withSubscription(message, subscribed)
            if (this.stream === undefined) resolve(jsonResponse(answer))
            else this.stream.send(answer, { last: true, isSecret: isSecret(answer, message) })
          },
          openStream: () => {
            const { stream, response } = streams.openForRequest(primed)
            resolve(response)
            return stream
          },
          drop(this: Exchange) {
            if (this.stream === undefined) resolve(closed ? sessionNotFound() : accepted())
            else this.stream.cancel()
          },
        })
      }),
    receive: async (message) => {
      if (!take(message)) {
        if ('method' in message && message.method !== 'notifications/cancelled') transport.onmessage?.(message)
        else await mailbox.post(message)
      }
      return accepted()
    },
    isSubscribed: (uri) => subscribed.includes(uri),
    running: () => exchanges.size,
    idle: async () => {
      if (exchanges.size > 0) await new Promise<void>((resolve) => idleWaiters.push(resolve))
    },
    close: async () => {
      if (closed) return
      closed = true
      mailbox.close()
      for (const [id, exchange] of exchanges) {
        settle(id, exchange)
        exchange.drop()
      }
      idleWaiters = []
      streams.close()
      transport.onclose?.()
    },
  }
  transport.onerror = (error) => log.warn({ err: error }, 'MCP session')
  return transport
}

function streamOf(exchange: Exchange | undefined): SessionStream | undefined {
  if (exchange === undefined) return undefined
  const stream = exchange.stream ?? exchange.openStream?.()
  if (stream !== undefined) exchange.stream = stream
  return stream
}

/** More than a host can mean to watch, and than it can take to name that. */
const subscriptionLimit = 1_000
const subscriptionCharacters = 64 * 1024

function withSubscription({ method, params }: JSONRPCRequest, subscribed: readonly string[]): readonly string[] {
  const uri = params?.uri
  if (typeof uri !== 'string') return subscribed
  if (method === 'resources/unsubscribe') return subscribed.filter((other) => other !== uri)
  if (method !== 'resources/subscribe' || subscribed.includes(uri)) return subscribed
  const characters = subscribed.reduce((sum, { length }) => sum + length, uri.length)
  const fits = subscribed.length < subscriptionLimit && characters <= subscriptionCharacters
  return fits ? [...subscribed, uri] : subscribed
}

function refusedRequest(
  { id }: JSONRPCRequest,
  characters: number,
  running: ReadonlyMap<RequestId, Exchange>,
  { runningPerSession: limit, runningCharactersPerSession: most }: SessionTransportOptions['limits'],
) {
  if (!isRequestId(id)) {
    const message = 'The id is too long: send a number or a text of at most 256 characters.'
    return refused({ status: 400, code: rpc.invalidRequest, message })
  }
  if (running.has(id)) {
    const message = 'A request with this id is still running in this session. Use another id.'
    return refused({ status: 400, code: rpc.invalidRequest, message, id })
  }
  const sum = [...running.values()].reduce((before, exchange) => before + exchange.characters, characters)
  // The only one that runs may have any length that the endpoint takes.
  if (running.size === 0 || (running.size < limit && sum <= most)) return undefined
  const message = `${running.size} requests of this session are running. Send this one again when one is answered.`
  return refused({ status: 429, code: rpc.server, message, id, headers: { 'Retry-After': '1' } })
}
