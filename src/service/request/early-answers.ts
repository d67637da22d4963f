import type { IncomingMessage, ServerResponse } from 'node:http'
import { deadline } from '../../core/system.ts'

/** How long, and for how much of what it still sends, a client is listened to that was answered before its body came. */
const lingerMs = 500
const lingerBytes = 64 * 1024 * 1024

/**
 * Readies an answer that is about to go out though the request's body has not all come: it ends the connection (RFC 9112
 * section 9.3), since where the next request begins on it nobody can tell. What still comes is thrown away for a moment:
 * a connection that is closed over unread data is reset, and the client might lose the answer (section 9.6).
 */
export function answerEarly(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || outgoing.headersSent || !announcesBody(incoming)) return
  outgoing.setHeader('Connection', 'close')
  const { socket } = incoming
  // Node calls this when the answer is written.
  socket.destroySoon = () => {
    let bytes = 0
    const timer = deadline(lingerMs, () => socket.destroy())
    socket.once('close', () => timer.clear())
    socket.on('data', ({ length }: Buffer) => {
      bytes += length
      if (bytes > lingerBytes) socket.destroy()
    })
    incoming.once('end', () => socket.destroy())
    incoming.resume()
    socket.end()
  }
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}
