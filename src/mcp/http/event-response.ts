const encoder = new TextEncoder()
/** A comment of the event stream, which hosts skip. */
const heartbeat = ': \n\n'

/**
 * An HTTP response of server-sent events. Events that its reader has not read yet wait here. Beyond `unreadBytes` the
 * response ends, so that a client that never reads cannot fill the memory.
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

  /** Aborts when either side has ended the response. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Resolves when the response is over, with true if its reader took everything. */
  get delivered(): Promise<boolean> {
    return this.#delivery.promise
  }

  write(frame: string | Uint8Array): void {
    if (this.#ending) return
    // A single message may exceed the limit: only bytes that already wait count.
    if (this.#waitingBytes > this.#unreadBytes) {
      this.#cutOff()
      return
    }
    const chunk = typeof frame === 'string' ? encoder.encode(frame) : frame
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.byteLength
    this.#flush()
  }

  /** Resolves when the reader has taken everything, or the response has ended. */
  async untilTaken(): Promise<void> {
    if (this.#waiting.length > 0 && !this.#ending) await new Promise<void>((resolve) => this.#whenTaken.push(resolve))
  }

  /**
   * Writes a heartbeat. If events are waiting and the reader took none since the last beat, ends the response instead.
   */
  beat(): void {
    if (this.#waiting.length === 0) {
      this.write(heartbeat)
      return
    }
    if (!this.#tookSome) this.#cutOff()
    this.#tookSome = false
  }

  /** Ends the response after everything written so far. */
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

/** Creates a response that carries the content of `source`. When one ends, the other ends too. */
export function eventResponseFrom(source: ReadableStream<Uint8Array>, unreadBytes: number): EventResponse {
  const response = new EventResponse(unreadBytes)
  const reader = source.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  response.ended.addEventListener('abort', stop, { once: true })
  const carry = async (): Promise<void> => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) response.write(read.value)
  }
  // A source that failed has nothing more to send either.
  const end = () => response.end()
  carry().then(end, end)
  return response
}

/** Formats an event with a message. The host may resume after its id. */
export function messageEvent(message: string, id?: string): string {
  // Encoded JSON has no line breaks, so it fits on one data line.
  return id === undefined ? `event: message\ndata: ${message}\n\n` : `event: message\nid: ${id}\ndata: ${message}\n\n`
}

/** Formats an event without a message. With its id, the host can resume even if the first message is lost. */
export function firstEvent(id: string): string {
  return `id: ${id}\ndata: \n\n`
}
