import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'

/** The headers that all JSON responses share. Sharing is safe, because the HTTP layer does not change the object. */
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
      // Tells reverse proxies not to buffer events.
      'X-Accel-Buffering': 'no',
    },
  })
}

/** Returns status 202, which accepts a message that needs no answer. */
export function acceptedResponse(): Response {
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

/** Creates a response with a JSON-RPC error, for a request that does not reach an MCP server. */
export function refusalResponse({ status, code, message, data, id = null, headers = {} }: RpcRefusal): Response {
  const error = data === undefined ? { code, message } : { code, message, data }
  return new Response(JSON.stringify({ jsonrpc: '2.0', error, id }), {
    status,
    headers: { ...jsonHeaders, ...headers },
  })
}

/** The error codes of JSON-RPC, and those of the MCP SDKs for cases that JSON-RPC does not cover. */
export const rpc = {
  parse: -32700,
  invalidRequest: -32600,
  internal: -32603,
  server: -32000,
  noSession: -32001,
} as const

/**
 * Creates the response for a session that does not exist or belongs to another principal. The response is the same in
 * both cases, so that it does not reveal whether another principal has this session.
 */
export function sessionNotFound(): Response {
  return refusalResponse({
    status: 404,
    code: rpc.noSession,
    message: 'Session not found: it has ended or never existed. Send initialize to start a new one.',
  })
}
