import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'

/** One object for all answers: the HTTP layer writes plain headers as they are. */
const jsonHeaders = Object.freeze({ 'Content-Type': 'application/json' })

export function jsonResponse(message: JSONRPCMessage, headers: Record<string, string> = jsonHeaders): Response {
  return new Response(JSON.stringify(message), { status: 200, headers })
}

export function jsonResponseWith(message: JSONRPCMessage, headers: Record<string, string>): Response {
  return jsonResponse(message, { ...jsonHeaders, ...headers })
}

export function streamResponse(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    status: 200,
    headers: {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      // Asks reverse proxies not to collect events.
      'X-Accel-Buffering': 'no',
    },
  })
}

/** The message was taken; there is nothing to answer. */
export function accepted(): Response {
  return new Response(null, { status: 202 })
}

export interface RpcRefusal {
  status: number
  code: number
  message: string
  data?: unknown
  id?: RequestId | null
  headers?: Record<string, string>
}

/** A request that is refused before it reaches an MCP server, as JSON-RPC tells it. */
export function refused({ status, code, message, data, id = null, headers = {} }: RpcRefusal): Response {
  const error = data === undefined ? { code, message } : { code, message, data }
  return new Response(JSON.stringify({ jsonrpc: '2.0', error, id }), {
    status,
    headers: { ...jsonHeaders, ...headers },
  })
}

/** JSON-RPC's own codes, and the one that the SDKs use where it has none. */
export const rpc = {
  parse: -32700,
  invalidRequest: -32600,
  internal: -32603,
  server: -32000,
  noSession: -32001,
} as const

/** Always the same, byte for byte: it must not tell whether the session is somebody else's. */
export function sessionNotFound(): Response {
  return refused({
    status: 404,
    code: rpc.noSession,
    message: 'Session not found: it ended or never was. Send initialize to start a new one.',
  })
}
