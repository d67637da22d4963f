/**
 * The maximum size in bytes of each event of a stream, and of an answer that is not a stream. The events and answers of
 * our own endpoint are far smaller.
 */
export const largestBytes = 8 * 1024 * 1024

/** The maximum number of bytes to read of an error response's body. Real error messages are far shorter. */
const largestRefusalBytes = 256 * 1024

const lineFeed = 0x0a
const carriageReturn = 0x0d

interface HostReader {
  /** Resolves once the host has taken all earlier messages. */
  ready(): Promise<void>
  /** Receives the reason if the answer or one of its events is too large. Called once. */
  exceeded(reason: string): void
}

/** Returns whether the response is an event stream, which stays open until the endpoint closes it. */
export function isEventStream(response: Response): boolean {
  // Like the transport, ignores parameters such as the charset, so that they cannot change which limit applies.
  const mediaType = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  return response.ok && response.status !== 202 && mediaType === 'text/event-stream'
}

/**
 * Returns the response with a size limit on its body. The body is read no faster than the host takes messages. The
 * limit applies to each event of a stream, and to any other body as a whole. The body of an error response is cut off
 * at a lower limit.
 */
export function boundedResponse(response: Response, { ready, exceeded }: HostReader): Response {
  if (response.body === null) return response
  const size = isEventStream(response) ? eventSize() : totalSize()
  const kind = isEventStream(response) ? 'an event' : 'the answer'
  const bounding = new TransformStream<Uint8Array, Uint8Array>({
    transform: async (chunk, controller) => {
      await ready()
      const bytes = size(chunk)
      if (!response.ok && bytes > largestRefusalBytes) return controller.terminate()
      if (bytes <= largestBytes) return controller.enqueue(chunk)
      const reason = `${kind} is larger than ${largestBytes / 1024 / 1024} MiB`
      exceeded(reason)
      controller.error(new Error(reason))
    },
  })
  return new Response(response.body.pipeThrough(bounding), response)
}

function totalSize(): (chunk: Uint8Array) => number {
  let bytes = 0
  return (chunk) => {
    bytes += chunk.byteLength
    return bytes
  }
}

/** Returns a function that measures the largest event in a chunk, including the event's bytes in earlier chunks. */
export function eventSize(): (chunk: Uint8Array) => number {
  let bytes = 0
  let isLineEmpty = true
  let last = 0
  return (chunk) => {
    let largest = 0
    for (const byte of chunk) {
      bytes += 1
      if (bytes > largest) largest = bytes
      const endsCrLf = byte === lineFeed && last === carriageReturn
      last = byte
      if (endsCrLf) continue
      const endsLine = byte === lineFeed || byte === carriageReturn
      // An empty line ends an event (HTML Standard, 9.2.5).
      if (endsLine && isLineEmpty) bytes = 0
      isLineEmpty = endsLine
    }
    return largest
  }
}
