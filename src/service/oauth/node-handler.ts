import type { IncomingMessage, ServerResponse } from 'node:http'
import { toFetchResponse, toReqRes } from 'fetch-to-node'

/** A fetch request for a handler, such as the authorization server, that accepts only Node's `http` requests. */
interface BridgedRequest {
  /** The service's address as browsers see it. The handler sees the host and the protocol of this address. */
  publicUrl: string
  request: Request
  /** The body to send instead of the request's own body. */
  body: string
  /** Headers to add or replace. */
  headers?: Readonly<Record<string, string>>
  /** The client's IP address, for rate limits; undefined for calls within this process. */
  address?: string | undefined
}

/** Passes a request to a Node handler and returns its response. */
export async function callNodeHandler(
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
  // Handlers read only two properties of the socket: `encrypted`, to decide on secure cookies, and the remote address.
  Object.defineProperty(req, 'socket', { value: { encrypted: protocol === 'https:', remoteAddress: address } })
  // If the handler fails before it responds, `toFetchResponse` never settles, but Promise.all rejects.
  const [response] = await Promise.all([toFetchResponse(res), handle(req, res)])
  return withoutHopByHop(response)
}

/**
 * The headers that apply only to one network connection (RFC 9110 section 7.6.1). They are removed, because the handler
 * is called without such a connection.
 */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

function withoutHopByHop(response: Response): Response {
  const headers = new Headers(response.headers)
  for (const name of hopByHop) headers.delete(name)
  return new Response(response.body, { status: response.status, headers })
}
