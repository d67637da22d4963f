import type { IncomingMessage, ServerResponse } from 'node:http'
import { toFetchResponse, toReqRes } from 'fetch-to-node'

/** A request to the authorization server, which works with Node's `http` requests. */
interface BridgedRequest {
  /** The service's address as browsers see it. The server derives its host and protocol from it. */
  publicUrl: string
  request: Request
  /** The body to send in place of the request's own. */
  body: string
  /** Headers to add or replace. */
  headers?: Readonly<Record<string, string>>
  /** The client's address for rate limits; undefined for calls within this process. */
  address?: string | undefined
}

/** Passes a request to a Node handler and returns its response. */
export async function throughNode(
  { publicUrl, request, body, headers = {}, address }: BridgedRequest,
  handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Promise<Response> {
  const { host, protocol } = new URL(publicUrl)
  const sent = new Headers(request.headers)
  sent.set('host', host)
  for (const name of ['content-length', ...hopByHop]) sent.delete(name)
  for (const [name, value] of Object.entries(headers)) sent.set(name, value)
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD' && body !== ''
  if (hasBody) sent.set('content-length', String(Buffer.byteLength(body)))
  const { pathname, search } = new URL(request.url)
  const init: RequestInit = { method: request.method, headers: sent, ...(hasBody ? { body } : {}) }
  const { req, res } = toReqRes(new Request(publicUrl + pathname + search, init))
  // Only two properties of the socket are read: `encrypted`, which decides on secure cookies, and the remote address.
  Object.defineProperty(req, 'socket', { value: { encrypted: protocol === 'https:', remoteAddress: address } })
  // Promise.all rejects if the handler fails before it responds; the response alone would wait forever.
  const [response] = await Promise.all([toFetchResponse(res), handle(req, res)])
  return withoutHops(response)
}

/**
 * Headers of a single connection (RFC 9110 section 7.6.1). They are removed, because the authorization server is called
 * without a connection.
 */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

function withoutHops(response: Response): Response {
  const headers = new Headers(response.headers)
  for (const name of hopByHop) headers.delete(name)
  return new Response(response.body, { status: response.status, headers })
}
