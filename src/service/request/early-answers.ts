import type { IncomingMessage, ServerResponse } from 'node:http'
import { deadline } from '../../core/system.ts'

/** How long, and for how much of what it still sends, a client is listened to that was answered before its body came. */
const lingerMs = 500
const lingerBytes = 64 * 1024 * 1024

/** How many clients are listened to at one time: of more, what they still send stays in the network. */
const mostLingering = 32
let lingering = 0

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
    const isHeard = lingering < mostLingering
    if (isHeard) lingering += 1
    socket.once('close', () => {
      timer.clear()
      if (isHeard) lingering -= 1
    })
    if (!isHeard) {
      const part: Buffer | null = incoming.read()
      if (part !== null) release(part)
      socket.pause()
      socket.end()
      return
    }
    incoming.once('end', () => socket.destroy())
    incoming.on('data', (part: Buffer) => {
      bytes += part.length
      release(part)
      if (bytes > lingerBytes) socket.destroy()
    })
    socket.end()
  }
}

/**
 * Frees the memory of bytes that nobody looks at. The garbage collector would only do so much later: it is run for what
 * JavaScript allocates, and hundreds of clients that are refused at once send a hundred megabytes before that.
 */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0
}
