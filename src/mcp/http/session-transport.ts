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

interface Exchange {
  request: JSONRPCRequest
  /** The length of the request, which stays in memory while it runs. */
  characters: number
  answer(message: JSONRPCMessage): void
  /** The stream that carries the answer, if another message was sent before it. */
  stream?: SessionStream
  openStream?: () => SessionStream
  /** Ends the exchange without an answer. With an error the connection is cut, unless a stream already answers. */
  drop(error?: ConnectionCutError): void
  stopWaiting: () => void
}

interface SessionTransportDependencies extends Omit<MailboxDependencies, 'receive'> {
  streams: SessionStreams
  limits: Pick<Limits, 'pollMs' | 'mailPerSession' | 'runningPerSession' | 'runningCharactersPerSession'>
  /** Returns whether a message must not be stored; `request` is the request that it answers or belongs to. */
  isSecret: (message: JSONRPCMessage, request: JSONRPCRequest | undefined) => boolean
}

/** Carries a session's messages between the MCP server and HTTP requests. */
export class SessionTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: NonNullable<Transport['onclose']>
  onerror: NonNullable<Transport['onerror']>
  readonly #dependencies: SessionTransportDependencies
  readonly #mailbox: Mailbox
  readonly #exchanges = new Map<RequestId, Exchange>()
  /** Requests to the host that wait for its answer, by the id that the host sees. */
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
    if ('id' in message) throw new Error('The host has no open stream on which it could be asked.')
  }

  /** Passes to the server a request that did not come over HTTP. Resolves with the answer. */
  ask(message: JSONRPCRequest): Promise<JSONRPCMessage> {
    return new Promise((resolve, reject) => {
      const drop = () => reject(new Error('The request was not answered.'))
      this.#begin(message, { characters: 0, answer: resolve, drop })
    })
  }

  /**
   * Serves a POST with a request. Answers with JSON if there is only an answer, or with events if other messages come
   * first.
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

  /** Cuts the connection of a request, and cancels the request for the server. */
  cut(id: RequestId): void {
    const exchange = this.#exchanges.get(id)
    if (exchange === undefined) return
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
    this.#settle(id, exchange)
    exchange.drop(new ConnectionCutError())
  }

  /** Returns how many requests run. */
  running(): number {
    return this.#exchanges.size
  }

  /** Resolves when no request runs. */
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

  /** Stores the host's subscriptions, so that any process can notify it. Refused subscriptions are not stored. */
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

  /** Handles a message for this process; returns false for any other message. */
  #take(message: JSONRPCMessage): boolean {
    if ('method' in message) {
      if (message.method !== 'notifications/cancelled') return false
      const id = message.params?.requestId as RequestId
      const exchange = this.#exchanges.get(id)
      if (exchange === undefined) return false
      this.onmessage?.(message)
      // A cancelled request is never answered, so its waiting response ends.
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

  /** Rewrites a message of the server for the host: requests of several processes need different ids. */
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

  /** Returns the stream for a message other than an answer; undefined if the host listens on no stream. */
  #streamFor(message: JSONRPCMessage, related: RequestId | undefined): SessionStream | undefined {
    if (related !== undefined) return streamOf(this.#exchanges.get(related))
    const isRequest = 'id' in message
    const stream = this.#dependencies.streams.generalStream(isRequest)
    if (stream !== undefined || !isRequest) return stream
    // A host that listens on no stream still reads the stream of its call. So if only one call runs, its stream carries
    // the request.
    return this.#exchanges.size === 1 ? streamOf(this.#exchanges.values().next().value) : undefined
  }
}

function streamOf(exchange: Exchange | undefined): SessionStream | undefined {
  if (exchange === undefined) return undefined
  const stream = exchange.stream ?? exchange.openStream?.()
  if (stream !== undefined) exchange.stream = stream
  return stream
}

/** Limits far above the subscriptions of any real host. */
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
    const message = 'The id is too long: send a number or a text of at most 256 characters.'
    return refusalResponse({ status: 400, code: rpc.invalidRequest, message })
  }
  if (running.has(id)) {
    const message = 'A request with this id is still running in this session. Use another id.'
    return refusalResponse({ status: 400, code: rpc.invalidRequest, message, id })
  }
  const sum = [...running.values()].reduce((before, exchange) => before + exchange.characters, characters)
  // A request that runs alone may have any length that the endpoint accepts.
  if (running.size === 0 || (running.size < limit && sum <= maxCharacters)) return undefined
  const message = `${running.size} requests of this session are running. Send this request again when another one is answered.`
  return refusalResponse({ status: 429, code: rpc.server, message, id, headers: { 'Retry-After': '1' } })
}
