import { AsyncLocalStorage } from 'node:async_hooks'
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import type { Log } from '../../client/client.ts'
import { modernVersion } from '../../core/mcp-versions.ts'
import type { System } from '../../core/system.ts'
import { boundedResponse, isEventStream } from './bounds.ts'
import { type MissingAnswer, missingAnswerError, shownError } from './missing-answer.ts'

export interface EndpointOptions {
  url: URL
  key: string
  log: Log
  system: Pick<System, 'sleep'>
}

/** A request from the host, and the state of its HTTP exchange. */
interface Exchange {
  request: JSONRPCRequest
  ending: AbortController
  /** The HTTP status of the response; undefined if there is no response. */
  status: number | undefined
  /** Whether the response is an event stream. When the stream ends, the transport calls `onRequestStreamEnd`. */
  isStream: boolean
  resumptions: number
}

/** The reason why a request has no answer: a phrase, or the transport's error. */
type Cause = Pick<MissingAnswer, 'reason' | 'isTooLarge' | 'error'>

const undeliverable = 'the bridge could not pass the answer on'

/**
 * The shortest and longest pause before a stream is resumed. If the endpoint requests a pause outside these limits, the
 * nearer limit is used.
 */
const shortestPauseMs = 1_000
const longestPauseMs = 30_000
/** The maximum number of resumptions of one stream. Even with the shortest pauses, this many take over 16 minutes. */
const maxResumptions = 1_000
/** The maximum number of connections that stay open although the host no longer waits for an answer on them. */
const maxIdle = 32

/** The endpoint's side of the bridge. If the endpoint does not answer a request, the bridge answers with an error. */
export class Endpoint {
  /** Sends a message to the host. Resolves once the host has taken it. */
  sendToHost: (message: JSONRPCMessage) => Promise<void> = async () => {}
  readonly #options: EndpointOptions
  readonly #transport: StreamableHTTPClientTransport
  readonly #open = new Map<unknown, Exchange>()
  /** Requests that the host no longer waits for, but whose connection may still be open, oldest first. */
  readonly #idle = new Set<Exchange>()
  /** The request that the transport is working on. It is also set while the transport resumes the request's stream. */
  readonly #current = new AsyncLocalStorage<Exchange>()
  readonly #closing = new AbortController()
  /** Resolves once the host has taken the latest message. By then, it has taken all earlier messages too, in order. */
  #lastTaken: Promise<void> = Promise.resolve()

  constructor(options: EndpointOptions) {
    this.#options = options
    this.#transport = new StreamableHTTPClientTransport(options.url, {
      requestInit: { headers: { Authorization: `Bearer ${options.key}` } },
      fetch: (url, init) => this.#fetch(url, init),
      reconnectionScheduler: (reconnect, delayMs) => this.#resume(reconnect, delayMs),
    })
    this.#transport.onmessage = (message) => this.#receive(message)
  }

  start(): Promise<void> {
    return this.#transport.start()
  }

  close(): Promise<void> {
    this.#closing.abort()
    return this.#transport.close()
  }

  async pass(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) return this.#ask(message)
    if (this.#handleCancellation(message)) return
    // The host expects no answer to this message, so a failure to send it is ignored.
    await this.#transport.send(message).catch(() => {})
  }

  async #ask(request: JSONRPCRequest): Promise<void> {
    const ending = new AbortController()
    const exchange: Exchange = { request, ending, status: undefined, isStream: false, resumptions: 0 }
    this.#open.set(request.id, exchange)
    const onRequestStreamEnd = () => {
      this.#idle.delete(exchange)
      this.#fail(exchange)
    }
    try {
      const sending = () => this.#transport.send(request, { requestSignal: ending.signal, onRequestStreamEnd })
      await this.#current.run(exchange, sending)
      if (!exchange.isStream) this.#fail(exchange)
    } catch (error) {
      this.#fail(exchange, { error })
    }
  }

  async #fetch(url: string | URL, init: RequestInit | undefined): Promise<Response> {
    const exchange = this.#current.getStore()
    // Only the response to the POST shows whether the request was accepted. Responses that resume its stream do not.
    const posted = init?.method === 'POST' ? exchange : undefined
    if (posted !== undefined) posted.status = undefined
    const response = await fetch(url, init)
    if (posted !== undefined) {
      posted.status = response.status
      posted.isStream = isEventStream(response)
      // With status 202 the endpoint promises no answer, and the body may never end.
      if (response.status === 202) this.#end(posted)
    }
    return boundedResponse(response, {
      ready: () => this.#lastTaken,
      exceeded: (reason) => {
        if (exchange === undefined) this.#options.log.warn({ reason }, 'the endpoint sent too much data')
        else this.#end(exchange, { reason, isTooLarge: true })
      },
    })
  }

  /** Resumes a stream after a pause, unless the host no longer waits for the answer in that stream. */
  #resume(reconnect: () => void, delayMs: number): void {
    const exchange = this.#current.getStore()
    if (exchange !== undefined) {
      if (this.#open.get(exchange.request.id) !== exchange) return
      exchange.resumptions += 1
      if (exchange.resumptions > maxResumptions) {
        this.#end(exchange, { reason: `its stream ended without an answer ${maxResumptions} times` })
        return
      }
    }
    const pauseMs = Math.min(longestPauseMs, Math.max(shortestPauseMs, delayMs))
    this.#options.system.sleep(pauseMs, this.#closing.signal).then(reconnect, () => {})
  }

  /**
   * Handles a cancellation, and ignores other messages. Returns true for a cancellation that need not be sent: the
   * canceled request is over, or it uses MCP 2026, in which closing the connection cancels a request.
   */
  #handleCancellation(message: JSONRPCMessage): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false
    const cancelled = this.#open.get(message.params?.requestId)
    if (cancelled === undefined) return true
    this.#setIdle(cancelled)
    if (!isModern(cancelled.request)) return false
    cancelled.ending.abort()
    return true
  }

  #receive(message: JSONRPCMessage): void {
    if ('method' in message) {
      this.#passOn(message)
      return
    }
    const exchange = this.#open.get(message.id)
    // The request is already over, or never existed.
    if (exchange === undefined) return
    this.#setIdle(exchange)
    const { protocolVersion } = ('result' in message ? message.result : {}) as { protocolVersion?: unknown }
    // The version is sent in a header of every later request. Characters that a header cannot contain would make those
    // requests fail.
    if (exchange.request.method === 'initialize' && /^[\w.-]{1,64}$/.test(String(protocolVersion))) {
      this.#transport.setProtocolVersion(String(protocolVersion))
    }
    this.#passOn(isJSONRPCErrorResponse(message) ? { ...message, error: shownError(message.error) } : message, exchange)
  }

  /**
   * Marks a request as one that the host no longer waits for. The connection stays open until the response ends, or
   * until too many such connections are open.
   */
  #setIdle(exchange: Exchange): void {
    this.#open.delete(exchange.request.id)
    this.#idle.add(exchange)
    for (const oldest of this.#idle) {
      if (this.#idle.size <= maxIdle) return
      this.#idle.delete(oldest)
      oldest.ending.abort()
    }
  }

  /**
   * Sends a message to the host. If an answer cannot be serialized, for example because it is nested too deeply, sends
   * an error instead.
   */
  #passOn(message: JSONRPCMessage, exchange?: Exchange): void {
    this.#lastTaken = this.sendToHost(message).catch(async (error) => {
      this.#options.log.warn({ err: error }, 'stdio')
      if (exchange !== undefined)
        await this.sendToHost(this.#errorFor(exchange, { reason: undeliverable })).catch(() => {})
    })
  }

  /** Answers a request with an error, and stops reading the endpoint's response. */
  #end(exchange: Exchange, cause: Cause = {}): void {
    this.#fail(exchange, cause)
    exchange.ending.abort()
  }

  #fail(exchange: Exchange, cause: Cause = {}): void {
    const { id } = exchange.request
    if (this.#open.get(id) !== exchange) return
    this.#open.delete(id)
    this.#passOn(this.#errorFor(exchange, cause))
  }

  #errorFor({ request, status }: Exchange, cause: Cause): JSONRPCMessage {
    const error = missingAnswerError({ ...cause, request, status, url: this.#options.url })
    return { jsonrpc: '2.0', id: request.id, error }
  }
}

function isModern({ params }: JSONRPCRequest): boolean {
  return params?._meta?.[PROTOCOL_VERSION_META_KEY] === modernVersion
}
