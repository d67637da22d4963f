import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Starts a proxy that adds a bearer token to each request, for a client that cannot send a credential. The proxy does
 * not change other headers, so that the server still sees and refuses a forbidden Host or Origin.
 */
export async function startBearerProxy(target: string, credential: string) {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const sent = { ...headers, authorization: `Bearer ${credential}` }
    const forwarded = request({ hostname, port, method, path: url, headers: sent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      // Sends the headers immediately, because the first event of a stream may come much later.
      outgoing.flushHeaders()
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  }
}
