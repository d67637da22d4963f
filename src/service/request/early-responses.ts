import type { IncomingMessage, ServerResponse } from 'node:http'
import { release } from '../../core/bounded-text.ts'
import { deadline } from '../../core/system.ts'

/** The limits for reading the rest of a body after an early answer: the time, and the number of bytes. */
const lingerMs = 500
const lingerBytes = 64 * 1024 * 1024

/** The maximum number of bodies read at the same time after early answers. Further bodies are left unread. */
const maxLingering = 32
let lingering = 0

/**
 * Prepares an answer that is sent before the request's body has arrived. The answer ends the connection (RFC 9112
 * section 9.3), because the server cannot find the next request without reading the whole body. Before the server
 * closes the connection, it reads and discards the rest of the body for a moment. Otherwise, the unread data would
 * cause a connection reset, and the client might lose the answer (section 9.6).
 */
export function answerEarly(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || outgoing.headersSent || announcedLength(incoming) === 0) return
  outgoing.setHeader('Connection', 'close')
  const { socket } = incoming
  let isReading = false
  let bytes = 0
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    release(chunk)
    if (bytes > lingerBytes) socket.destroy()
    // After each chunk, Node resumes the socket on the next tick. A microtask runs later than that, so the pause lasts.
    else if (!isReading) queueMicrotask(() => isReading || socket.pause())
  })
  const closeWhenSent = socket.destroySoon.bind(socket)
  // Node calls this as soon as the answer is written.
  socket.destroySoon = () => {
    if (incoming.complete) return closeWhenSent()
    const timer = deadline(lingerMs, () => socket.destroy())
    isReading = lingering < maxLingering
    if (isReading) lingering += 1
    socket.once('close', () => {
      timer.clear()
      if (isReading) lingering -= 1
    })
    incoming.once('end', () => socket.destroy())
    if (isReading) socket.resume()
    socket.end()
  }
}

/** Returns the body length that a request announces; infinity for a chunked body. */
export function announcedLength({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY
}
