/**
 * The size limit for each event of a stream, and for an answer that is not a stream. Our own endpoint stays far below
 * this limit.
 */
export const largestBytes = 8 * 1024 * 1024

/** The most bytes of a refusal's text that are read. Real refusals are far shorter. */
const largestRefusalBytes = 256 * 1024

const lineFeed = 0x0a
const carriageReturn = 0x0d

interface HostReader {
  /** Resolves once the host has taken all earlier messages. */
  ready(): Promise<void>
  /** Reports once, with the reason in words, that the answer is too large. */
  exceeded(reason: string): void
}

/** Returns whether the response is an event stream, which stays open until the endpoint closes it. */
export function isEventStream(response: Response): boolean {
  // Compares only the media type, like the transport: its parameters must not change which limit applies.
  const mediaType = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  return response.ok && response.status !== 202 && mediaType === 'text/event-stream'
}

/**
 * Returns the response with a bounded body, read no faster than the host reads. A stream may last forever, but each of
 * its events is bounded. Any other answer has the same limit in total; a refusal's text is cut short.
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

/** Returns a function that returns the size of the largest event in each chunk, counted from the event's first byte. */
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
      // An empty line ends an event (HTML, 9.2.5).
      if (endsLine && isLineEmpty) bytes = 0
      isLineEmpty = endsLine
    }
    return largest
  }
}
