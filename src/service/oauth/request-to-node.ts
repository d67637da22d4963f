import type { IncomingMessage, ServerResponse } from 'node:http'
import { toFetchResponse, toReqRes } from 'fetch-to-node'

/** What a request must be for the authorization server, which speaks Node's own HTTP. */
interface BridgedRequest {
  /** The service's address as browsers see it: what it believes of its own host and protocol. */
  publicUrl: string
  request: Request
  /** Sent in place of the request's own. */
  body: string
  /** Headers that are added or replaced. */
  headers?: Readonly<Record<string, string>>
  /** What the client is counted by; undefined: it calls within this process. */
  address?: string | undefined
}

/** Hands a request to a handler of Node's kind and gives back what it answers. */
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
  // All that is asked of the connection is whether it is a safe one, which decides on the cookies, and whose it is.
  Object.defineProperty(req, 'socket', { value: { encrypted: protocol === 'https:', remoteAddress: address } })
  // What fails before it answers would leave the answer waiting.
  const [response] = await Promise.all([toFetchResponse(res), handle(req, res)])
  return withoutHops(response)
}

/** RFC 9110 section 7.6.1: these are of one connection, and there is none between here and the authorization server. */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade']

function withoutHops(response: Response): Response {
  const headers = new Headers(response.headers)
  for (const name of hopByHop) headers.delete(name)
  return new Response(response.body, { status: response.status, headers })
}
