import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request that the receiver got. */
export interface Received {
  path: string
  headers: IncomingHttpHeaders
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read single fields and also compare the whole body.
  json: any
}

/** A receiver of webhooks on this machine. */
export interface Receiver {
  url: string
  readonly received: Received[]
  /** Sets the answer to later requests: a status, 'never' for no answer, or a function that chooses between them. */
  answer(status: number | 'never' | ((received: Received) => number | 'never'), headers?: Record<string, string>): void
  /** Returns how many connections to the receiver have been opened since its start. */
  connections(): number
  close(): Promise<void>
}

export async function openReceiver(port = 0): Promise<Receiver> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  let chooseStatus: (received: Received) => number | 'never' = () => 200
  let headers: Record<string, string> = {}
  let connections = 0
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      const delivery = { path: request.url ?? '', headers: request.headers, text, json: JSON.parse(text) }
      received.push(delivery)
      const status = chooseStatus(delivery)
      if (status !== 'never') response.writeHead(status, headers).end('thank you')
    })
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: (status, newHeaders = {}) => {
      chooseStatus = typeof status === 'function' ? status : () => status
      headers = newHeaders
    },
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
