import type {
  JSONRPCMessage,
  JSONRPCRequest,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server'
import { ConnectionCutError } from '../../core/faults.ts'
import type { Limits } from './limits.ts'
import { isRequestId, Mailbox, type MailboxDependencies } from './mailbox.ts'
import { acceptedResponse, jsonResponse, refusalResponse, rpc, sessionNotFound } from './responses.ts'
import type { SessionStream } from './session-stream.ts'
import type { SessionStreams } from './session-streams.ts'

/** A running request and the ways to end it. */
interface Exchange {
  request: JSONRPCRequest
  /** The length of the request's body. The request stays in memory while it runs. */
  characters: number
  answer(message: JSONRPCMessage): void
  /** The stream that carries the answer, if another message was sent before the answer. */
  stream?: SessionStream
  openStream?: () => SessionStream
  /**
   * Ends the request without an answer. If the request has a stream, ends the stream. If not, and `error` is given,
   * cuts the connection.
   */
  drop(error?: ConnectionCutError): void
  stopWaiting: () => void
}

interface SessionTransportDependencies extends Omit<MailboxDependencies, 'receive'> {
  streams: SessionStreams
  limits: Pick<Limits, 'pollMs' | 'mailPerSession' | 'runningPerSession' | 'runningCharactersPerSession'>
  /**
   * Returns whether a message must not be stored. If the message is an answer, `request` is the request that it
   * answers.
   */
  isSecret: (message: JSONRPCMessage, request: JSONRPCRequest | undefined) => boolean
}

/** The transport that carries a session's messages between the MCP server and HTTP requests. */
export class SessionTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: NonNullable<Transport['onclose']>
  onerror: NonNullable<Transport['onerror']>
  readonly #dependencies: SessionTransportDependencies
  readonly #mailbox: Mailbox
  readonly #exchanges = new Map<RequestId, Exchange>()
  /** Unanswered requests to the host, by the id that the host sees. */
  readonly #asked = new Map<string, { id: RequestId; stopWaiting: () => void }>()
  #idleWaiters: (() => void)[] = []
  #closed = false

  constructor(dependencies: SessionTransportDependencies) {
    this.#dependencies = dependencies
    this.#mailbox = new Mailbox({ ...dependencies, receive: (message) => void this.#take(message) })
    this.onerror = (error) => dependencies.log.warn({ err: error }, 'MCP session')
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage, { relatedRequestId }: TransportSendOptions = {}): Promise<void> {
    if (this.#closed) throw new Error('The session has ended.')
    if (!('method' in message)) {
      const exchange = message.id === undefined ? undefined : this.#exchanges.get(message.id)
      if (exchange === undefined || message.id === undefined) return
      const answer = 'result' in message ? await this.#storeSubscription(exchange.request, message) : message
      this.#settle(message.id, exchange)
      exchange.answer(answer)
      return
    }
    const isSecret = this.#dependencies.isSecret(message, undefined)
    const stream = this.#streamFor(message, relatedRequestId)
    if (stream !== undefined) return stream.send(this.#outgoing(message), { isSecret })
    if ('id' in message) throw new Error('The host has no open stream to which this request could be sent.')
  }

  /** Passes an `initialize` request to the MCP server. Resolves with the answer. */
  ask(message: JSONRPCRequest): Promise<JSONRPCMessage> {
    return new Promise((resolve, reject) => {
      const drop = () => reject(new Error('The request was not answered.'))
      this.#begin(message, { characters: 0, answer: resolve, drop })
    })
  }

  /**
   * Serves a POST with a request. If the answer is the only message, the response is JSON. If other messages precede
   * the answer, the response is an event stream.
   */
  request(message: JSONRPCRequest, http: Request, characters: number, withFirstEvent: boolean): Promise<Response> {
    const { streams, limits } = this.#dependencies
    if (this.#closed) return Promise.resolve(sessionNotFound())
    const refusal = findRefusal(message, characters, this.#exchanges, limits)
    if (refusal !== undefined) return Promise.resolve(refusal)
    return new Promise((resolve, reject) => {
      const openStream = () => {
        const { stream, response } = streams.openForRequest(withFirstEvent)
        resolve(response)
        return stream
      }
      const exchange: Omit<Exchange, 'request' | 'stopWaiting'> = {
        characters,
        openStream,
        answer: (answer) => this.#answer(message, answer, exchange.stream, resolve),
        drop: (error) => {
          if (exchange.stream !== undefined) exchange.stream.cancel()
          else if (error !== undefined) reject(error)
          else resolve(this.#closed ? sessionNotFound() : acceptedResponse())
        },
      }
      this.#begin(message, exchange, http)
    })
  }

  /** Serves a POST with a notification or an answer from the host. */
  async receive(message: JSONRPCMessage): Promise<Response> {
    if (!this.#take(message)) {
      if ('method' in message && message.method !== 'notifications/cancelled') this.onmessage?.(message)
      else await this.#mailbox.post(message)
    }
    return acceptedResponse()
  }

  /** Cuts the connection of a request, and tells the MCP server that the request is canceled. */
  cut(id: RequestId): void {
    const exchange = this.#exchanges.get(id)
    if (exchange === undefined) return
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
    this.#settle(id, exchange)
    exchange.drop(new ConnectionCutError())
  }

  /** Returns the number of running requests. */
  running(): number {
    return this.#exchanges.size
  }

  /** Resolves when no request is running. */
  async idle(): Promise<void> {
    if (this.#exchanges.size > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#mailbox.close()
    for (const [id, exchange] of this.#exchanges) {
      this.#settle(id, exchange)
      exchange.drop()
    }
    this.#idleWaiters = []
    this.#dependencies.streams.close()
    this.onclose?.()
  }

  #begin(request: JSONRPCRequest, started: Omit<Exchange, 'request' | 'stopWaiting'>, over?: Request): void {
    this.#exchanges.set(request.id, Object.assign(started, { request, stopWaiting: this.#mailbox.wait() }))
    this.onmessage?.(request, over === undefined ? undefined : { request: over })
  }

  #answer(
    request: JSONRPCRequest,
    answer: JSONRPCMessage,
    stream: SessionStream | undefined,
    resolve: (response: Response) => void,
  ): void {
    if (stream === undefined) resolve(jsonResponse(answer))
    else stream.send(answer, { last: true, isSecret: this.#dependencies.isSecret(answer, request) })
  }

  /**
   * Stores the host's new subscriptions if the request changes them, so that any process can notify the host. Returns
   * the answer, or an error if the new subscriptions could not be stored.
   */
  #storeSubscription(request: JSONRPCRequest, answer: JSONRPCMessage): JSONRPCMessage | Promise<JSONRPCMessage> {
    if (request.method !== 'resources/subscribe' && request.method !== 'resources/unsubscribe') return answer
    const { store, idHash, log } = this.#dependencies
    return store
      .subscribe(idHash, (subscribed) => withSubscription(request, subscribed))
      .then(
        () => answer,
        (error: unknown) => {
          log.warn({ err: error }, 'a subscription was not stored')
          const message = 'The subscription could not be stored. Send the request again.'
          return { jsonrpc: '2.0', id: request.id, error: { code: rpc.internal, message } }
        },
      )
  }

  #settle(id: RequestId, exchange: Exchange): void {
    this.#exchanges.delete(id)
    exchange.stopWaiting()
    if (this.#exchanges.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  /** Handles an answer or a cancellation that concerns this process; returns false for any other message. */
  #take(message: JSONRPCMessage): boolean {
    if ('method' in message) {
      if (message.method !== 'notifications/cancelled') return false
      const id = message.params?.requestId as RequestId
      const exchange = this.#exchanges.get(id)
      if (exchange === undefined) return false
      this.onmessage?.(message)
      // A canceled request is never answered, so its HTTP response ends now.
      this.#settle(id, exchange)
      exchange.drop()
      return true
    }
    const waiting = this.#asked.get(String(message.id))
    if (waiting === undefined) return false
    this.#asked.delete(String(message.id))
    waiting.stopWaiting()
    this.onmessage?.({ ...message, id: waiting.id })
    return true
  }

  /** Rewrites the ids of requests to the host, because requests from different processes need different ids. */
  #outgoing(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message)) return message
    if ('id' in message) {
      const id = this.#mailbox.idForHost(message.id)
      this.#asked.set(id, { id: message.id, stopWaiting: this.#mailbox.wait() })
      return { ...message, id }
    }
    if (message.method !== 'notifications/cancelled') return message
    const requestId = this.#mailbox.idForHost(message.params?.requestId as RequestId)
    this.#asked.get(requestId)?.stopWaiting()
    this.#asked.delete(requestId)
    return { ...message, params: { ...message.params, requestId } }
  }

  /** Returns the stream for a message other than an answer; undefined if there is no suitable stream. */
  #streamFor(message: JSONRPCMessage, related: RequestId | undefined): SessionStream | undefined {
    if (related !== undefined) return streamOf(this.#exchanges.get(related))
    const isRequest = 'id' in message
    const stream = this.#dependencies.streams.generalStream(isRequest)
    if (stream !== undefined || !isRequest) return stream
    // A host that listens on no stream still reads the response to its call. So if only one call is running, the
    // request is sent in that response.
    return this.#exchanges.size === 1 ? streamOf(this.#exchanges.values().next().value) : undefined
  }
}

function streamOf(exchange: Exchange | undefined): SessionStream | undefined {
  if (exchange === undefined) return undefined
  const stream = exchange.stream ?? exchange.openStream?.()
  if (stream !== undefined) exchange.stream = stream
  return stream
}

/** The limits on a session's subscriptions. No real host comes near them. */
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

function findRefusal(
  { id }: JSONRPCRequest,
  characters: number,
  running: ReadonlyMap<RequestId, Exchange>,
  { runningPerSession: limit, runningCharactersPerSession: maxCharacters }: SessionTransportDependencies['limits'],
) {
  if (!isRequestId(id)) {
    const message = 'The id is too long. Send a number, or a string of at most 256 characters.'
    return refusalResponse({ status: 400, code: rpc.invalidRequest, message })
  }
  if (running.has(id)) {
    const message = 'A request with this id is still running in this session. Use another id.'
    return refusalResponse({ status: 400, code: rpc.invalidRequest, message, id })
  }
  const sum = [...running.values()].reduce((before, exchange) => before + exchange.characters, characters)
  // If no other request is running, the request may have any length that the endpoint accepts.
  if (running.size === 0 || (running.size < limit && sum <= maxCharacters)) return undefined
  const message = `${running.size} requests of this session are running. Send this request again after one of them is answered.`
  return refusalResponse({ status: 429, code: rpc.server, message, id, headers: { 'Retry-After': '1' } })
}
