const encoder = new TextEncoder()
/** A comment line of an event stream. Clients ignore such lines. */
const heartbeat = ': \n\n'

/**
 * An HTTP response that carries server-sent events. It buffers the events that the client has not read yet. If more
 * than `unreadBytes` are buffered, it ends, so that a client that never reads cannot fill the memory.
 */
export class EventResponse {
  readonly body: ReadableStream<Uint8Array>
  readonly #unreadBytes: number
  readonly #ended = new AbortController()
  readonly #delivery = Promise.withResolvers<boolean>()
  readonly #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #ending = false
  #tookSome = true
  readonly #whenTaken: (() => void)[] = []
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(unreadBytes: number) {
    this.#unreadBytes = unreadBytes
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller
      },
      pull: () => this.#flush(),
      cancel: () => {
        this.#controller = undefined
        this.#cutOff()
      },
    })
  }

  /** Returns a signal that aborts when either side ends the response. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /**
   * Resolves when the response is over: with true if the client took everything that was written, otherwise with false.
   */
  get delivered(): Promise<boolean> {
    return this.#delivery.promise
  }

  write(frame: string | Uint8Array): void {
    if (this.#ending) return
    // Only bytes that were already waiting count, so a single message may exceed the limit.
    if (this.#waitingBytes > this.#unreadBytes) {
      this.#cutOff()
      return
    }
    const chunk = typeof frame === 'string' ? encoder.encode(frame) : frame
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.byteLength
    this.#flush()
  }

  /** Resolves when the client has taken everything that was written, or when the response has ended. */
  async untilTaken(): Promise<void> {
    if (this.#waiting.length > 0 && !this.#ending) await new Promise<void>((resolve) => this.#whenTaken.push(resolve))
  }

  /**
   * Writes a heartbeat if no events are waiting. Otherwise, ends the response if the client took no event since the
   * last beat.
   */
  beat(): void {
    if (this.#waiting.length === 0) {
      this.write(heartbeat)
      return
    }
    if (!this.#tookSome) this.#cutOff()
    this.#tookSome = false
  }

  /** Ends the response once the client has taken everything written so far. */
  end(): void {
    if (this.#ending) return
    this.#ending = true
    this.#flush()
    this.#resolveTaken()
    this.#ended.abort()
  }

  #flush(): void {
    while (this.#controller !== undefined && this.#waiting.length > 0 && (this.#controller.desiredSize ?? 0) > 0) {
      const chunk = this.#waiting.shift() as Uint8Array
      this.#waitingBytes -= chunk.byteLength
      this.#tookSome = true
      this.#controller.enqueue(chunk)
    }
    if (this.#waiting.length > 0) return
    this.#resolveTaken()
    if (!this.#ending) return
    this.#controller?.close()
    this.#controller = undefined
    this.#delivery.resolve(true)
  }

  #resolveTaken(): void {
    for (const resolve of this.#whenTaken.splice(0)) resolve()
  }

  #cutOff(): void {
    this.#waiting.length = 0
    this.#waitingBytes = 0
    this.#delivery.resolve(false)
    this.end()
  }
}

/** Creates a response that carries the content of `source`. When the response or the source ends, so does the other. */
export function eventResponseFrom(source: ReadableStream<Uint8Array>, unreadBytes: number): EventResponse {
  const response = new EventResponse(unreadBytes)
  const reader = source.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  response.ended.addEventListener('abort', stop, { once: true })
  const carry = async (): Promise<void> => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) response.write(read.value)
  }
  // The response also ends if the source fails.
  const end = () => response.end()
  carry().then(end, end)
  return response
}

/** Formats an event with a message. If the event has an id, a host can later resume the stream after this event. */
export function messageEvent(message: string, id?: string): string {
  // JSON from `JSON.stringify` has no line breaks, so it fits on one data line.
  return id === undefined ? `event: message\ndata: ${message}\n\n` : `event: message\nid: ${id}\ndata: ${message}\n\n`
}

/** Formats an event without a message. Its id lets the host resume even if the first message is lost. */
export function firstEvent(id: string): string {
  return `id: ${id}\ndata: \n\n`
}
