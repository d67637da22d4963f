import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * A range below the ports that operating systems use for outgoing connections (Linux: from 32768, others: from 49152).
 */
const ports = { from: 20_000, to: 32_000 }

/** Returns a free port of this machine. No outgoing connection can take this port before the test uses it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.to)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
