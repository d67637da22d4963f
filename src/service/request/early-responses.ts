import type { IncomingMessage, ServerResponse } from 'node:http'
import { release } from '../../core/bounded-text.ts'
import { deadline } from '../../core/system.ts'

/** How long, and for how much of what it still sends, a client is listened to that was answered before its body came. */
const lingerMs = 500
const lingerBytes = 64 * 1024 * 1024

/** How many clients are listened to at one time: of more, what they still send stays in the network. */
const mostLingering = 32
let lingering = 0

/**
 * Prepares an answer that goes out before the request's body has arrived. It ends the connection (RFC 9112 section 9.3),
 * since nothing tells where the next request on it would begin. The rest of the body is read and thrown away for a moment:
 * a connection that is closed over unread data is reset, and the client might lose the answer (section 9.6).
 */
export function answerEarly(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || outgoing.headersSent || announcedLength(incoming) === 0) return
  outgoing.setHeader('Connection', 'close')
  const { socket } = incoming
  let isHeard = false
  let bytes = 0
  incoming.on('data', (part: Buffer) => {
    bytes += part.length
    release(part)
    if (bytes > lingerBytes) socket.destroy()
    // Node reads on after each part, on the next tick; only a pause that comes later holds.
    else if (!isHeard) queueMicrotask(() => isHeard || socket.pause())
  })
  const closeWhenSent = socket.destroySoon.bind(socket)
  // Node calls this when the answer is written.
  socket.destroySoon = () => {
    if (incoming.complete) return closeWhenSent()
    const timer = deadline(lingerMs, () => socket.destroy())
    isHeard = lingering < mostLingering
    if (isHeard) lingering += 1
    socket.once('close', () => {
      timer.clear()
      if (isHeard) lingering -= 1
    })
    incoming.once('end', () => socket.destroy())
    if (isHeard) socket.resume()
    socket.end()
  }
}

/** Returns the length that a request announces for its body; infinite for a body in chunks. */
export function announcedLength({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY
}
