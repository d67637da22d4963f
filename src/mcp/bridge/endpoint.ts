import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { modernVersion } from '../../core/mcp-versions.ts'

/** The endpoint, which answers each request that it is passed: by itself, or here where no answer came. */
export class Endpoint {
  told: (message: JSONRPCMessage) => void = () => {}
  readonly #transport: StreamableHTTPClientTransport
  /** Requests that have no answer yet, by their ids. */
  readonly #open = new Map<unknown, { request: JSONRPCRequest; ending: AbortController }>()

  constructor(url: URL, key: string) {
    this.#transport = new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { Authorization: `Bearer ${key}` } },
      fetch: async (url, init) => bounded(await fetch(url, init)),
    })
    this.#transport.onmessage = (message) => this.#receive(message)
  }

  start(): Promise<void> {
    return this.#transport.start()
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  async pass(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) return this.#ask(message)
    if (this.#isCancelled(message)) return
    // Nobody waits for an answer to what is told.
    await this.#transport.send(message).catch(() => {})
  }

  async #ask(request: JSONRPCRequest): Promise<void> {
    const ending = new AbortController()
    this.#open.set(request.id, { request, ending })
    const onRequestStreamEnd = () => this.#fail(request, new Error('the connection was cut'))
    try {
      await this.#transport.send(request, { requestSignal: ending.signal, onRequestStreamEnd })
    } catch (error) {
      this.#fail(request, error as Error)
    }
  }

  /** The later era ends a request by ending its connection, and has no message for it over HTTP. */
  #isCancelled(message: JSONRPCMessage): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false
    const cancelled = this.#open.get(message.params?.requestId)
    if (cancelled === undefined) return true
    this.#open.delete(cancelled.request.id)
    if (!isModern(cancelled.request)) return false
    cancelled.ending.abort()
    return true
  }

  #receive(message: JSONRPCMessage): void {
    if ('id' in message && !('method' in message)) {
      const asked = this.#open.get(message.id)
      // Its answer comes too late: it was cancelled.
      if (asked === undefined) return
      this.#open.delete(message.id)
      const { protocolVersion } = ('result' in message ? message.result : {}) as { protocolVersion?: unknown }
      if (asked.request.method === 'initialize' && typeof protocolVersion === 'string') {
        this.#transport.setProtocolVersion(protocolVersion)
      }
    }
    this.told(message)
  }

  #fail(request: JSONRPCRequest, error: Error): void {
    if (!this.#open.delete(request.id)) return
    this.told({ jsonrpc: '2.0', id: request.id, error: refusalIn(error) ?? unanswered(error) })
  }
}

function isModern({ params }: JSONRPCRequest): boolean {
  return params?._meta?.[PROTOCOL_VERSION_META_KEY] === modernVersion
}

/** What the endpoint itself said of a request that it refused. */
function refusalIn(error: Error): { code: number; message: string } | undefined {
  try {
    const said = JSON.parse((error as { data?: { text?: string } }).data?.text ?? '')
    return isJSONRPCErrorResponse({ ...said, id: 0 }) ? said.error : undefined
  } catch {
    return undefined
  }
}

/** The code that JSON-RPC 2.0 leaves to implementations, which the endpoint uses too. */
const unanswered = ({ message }: Error) => ({
  code: -32_000,
  message: `No answer came from the endpoint (${message}). Whether the call was carried out is not known.`,
})

/** More than any single answer of the endpoint has; a stream of events has no such limit. */
const largestAnswerBytes = 8 * 1024 * 1024

/** Ends the body of an answer that is too large, which the transport would otherwise keep in memory whole. */
function bounded(response: Response): Response {
  if (response.body === null || response.headers.get('content-type')?.includes('text/event-stream')) return response
  let bytes = 0
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength
      if (bytes <= largestAnswerBytes) controller.enqueue(chunk)
      else controller.error(new Error('The answer of the endpoint is larger than 8 MiB.'))
    },
  })
  return new Response(response.body.pipeThrough(counting), response)
}
