/** One HTTP response that carries server-sent events. */
export interface EventResponse {
  readonly body: ReadableStream<Uint8Array>
  /** Aborts when it has ended, by either side. */
  readonly ended: AbortSignal
  /** Whether its reader took all that was written; resolves when it is over. */
  readonly delivered: Promise<boolean>
  write(frame: string | Uint8Array): void
  /** Resolves when its reader has taken what was written, or it has ended. */
  taken(): Promise<void>
  /** Shows that it lives; one whose reader took nothing of what waits since the last time is ended. */
  beat(): void
  /** Ends it behind what was written. */
  end(): void
}

const encoder = new TextEncoder()
/** A comment, which hosts skip. */
const heartbeat = ': \n\n'

/**
 * Opens one. What its reader did not read yet waits here; beyond `unreadBytes` it ends, lest somebody who never reads
 * fills the memory.
 */
export function openEventResponse(unreadBytes: number): EventResponse {
  const ended = new AbortController()
  const delivery = Promise.withResolvers<boolean>()
  const waiting: Uint8Array[] = []
  let waitingBytes = 0
  let ending = false
  let tookSome = true
  const whenTaken: (() => void)[] = []
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const flush = () => {
    while (controller !== undefined && waiting.length > 0 && (controller.desiredSize ?? 0) > 0) {
      const chunk = waiting.shift() as Uint8Array
      waitingBytes -= chunk.byteLength
      tookSome = true
      controller.enqueue(chunk)
    }
    if (waiting.length > 0) return
    for (const resolve of whenTaken.splice(0)) resolve()
    if (!ending) return
    controller?.close()
    controller = undefined
    delivery.resolve(true)
  }
  const end = () => {
    if (ending) return
    ending = true
    flush()
    for (const resolve of whenTaken.splice(0)) resolve()
    ended.abort()
  }
  const cutOff = () => {
    waiting.length = 0
    waitingBytes = 0
    delivery.resolve(false)
    end()
  }
  const write = (frame: string | Uint8Array) => {
    if (ending) return
    // A single message may be larger: only what waits in front of it counts.
    if (waitingBytes > unreadBytes) return cutOff()
    const chunk = typeof frame === 'string' ? encoder.encode(frame) : frame
    waiting.push(chunk)
    waitingBytes += chunk.byteLength
    flush()
  }
  const body = new ReadableStream<Uint8Array>({
    start(started) {
      controller = started
    },
    pull: flush,
    cancel() {
      controller = undefined
      cutOff()
    },
  })
  return {
    body,
    ended: ended.signal,
    delivered: delivery.promise,
    write,
    taken: async () => {
      if (waiting.length > 0 && !ending) await new Promise<void>((resolve) => whenTaken.push(resolve))
    },
    beat: () => {
      if (waiting.length === 0) return write(heartbeat)
      if (!tookSome) cutOff()
      tookSome = false
    },
    end,
  }
}

/** What comes out of `source`, as a connection that ends with either of them. */
export function eventResponseFrom(source: ReadableStream<Uint8Array>, unreadBytes: number): EventResponse {
  const connection = openEventResponse(unreadBytes)
  const reader = source.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  connection.ended.addEventListener('abort', stop, { once: true })
  const next = async (): Promise<void> => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) connection.write(read.value)
  }
  // A source that fails has nothing more to tell than one that ends.
  next().then(connection.end, connection.end)
  return connection
}

/** An event with a message, which may be resumed after by its id. */
export function messageEvent(message: string, id?: string): string {
  // JSON has no line breaks of its own, so one data line holds it.
  return id === undefined ? `event: message\ndata: ${message}\n\n` : `event: message\nid: ${id}\ndata: ${message}\n\n`
}

/** An event without a message, which gives the host an id to resume after before there is anything else. */
export function firstEvent(id: string): string {
  return `id: ${id}\ndata: \n\n`
}
