import type { System } from '../../core/system.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { type Lease, takeLeases } from '../store/rate-limits.ts'

export const windowMs = 60_000

/**
 * The number of shares that a limit is divided into. A process takes one share at a time. No other process can use what
 * is left of it.
 */
const parts = 100
/**
 * How often to try to count a request. A try fails if the window ends meanwhile, or if other requests use up the share.
 */
const maxAttempts = 10

/** The state of a credential's window in this process. */
interface Window {
  /** The number of requests that this process may accept without asking the database. */
  left: number
  /** The part of the limit that no process had taken when this process last asked the database. */
  beyond: number
  /** The end of the window, by the monotonic clock. */
  endsAtMs: number
}

/** The outcome of counting a request. */
export interface Taken {
  allowed: boolean
  /** How many more requests the window allows, as far as this process knows. */
  remaining: number
  leftMs: number
}

type Take = (requested: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, Lease>>

/**
 * Counts requests in windows of one minute of real time. A window begins with a credential's first request. On a
 * database server, all processes share each window. Each process takes a small share in advance, so that together they
 * never exceed the limit. They ask the database about a hundred times per window, no matter how many requests arrive.
 * Concurrent requests for shares use one statement.
 */
export class RateWindows {
  readonly #system: System
  readonly #part: number
  readonly #take: Take
  /** The windows in the order in which they began. */
  readonly #windows = new Map<string, Window>()
  /** The number of requests that wait for a share, by key id. */
  #wanted = new Map<string, number>()
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(limit: number, { store, system }: { store: Store; system: System }) {
    this.#system = system
    // Several processes rarely use one database file, and sharing would cost disk writes.
    const isShared = store.dialect === 'postgres'
    this.#part = isShared ? Math.max(1, Math.floor(limit / parts)) : limit
    this.#take = isShared
      ? (requested) => store.aside((tx) => takeLeases(tx, requested, { limit, windowMs }))
      : async (requested) =>
          new Map([...requested].map(([id]) => [id, { granted: limit, beyond: 0, leftMs: windowMs }]))
  }

  /** Counts a request. @throws StoreBusyError if the database cannot be asked. */
  async count(keyId: string): Promise<Taken> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const window = this.#windows.get(keyId)
      if (window !== undefined && this.#leftMs(window) > 0) {
        if (window.left > 0) return this.#allow(keyId, window)
        if (window.beyond === 0) return { allowed: false, remaining: 0, leftMs: this.#leftMs(window) }
      }
      await this.#ask(keyId)
    }
    throw new StoreBusyError('Too many requests of one credential wait to be counted.')
  }

  #allow(keyId: string, window: Window): Taken {
    window.left -= 1
    // The next share is requested in advance, so that nobody waits for it. After a failure, a later request retries and
    // gets the error.
    if (window.beyond > 0 && window.left > 0 && window.left === Math.floor(this.#part / 4)) {
      this.#ask(keyId).catch(() => {})
    }
    return { allowed: true, remaining: window.left + window.beyond, leftMs: this.#leftMs(window) }
  }

  #leftMs({ endsAtMs }: Window): number {
    return endsAtMs - this.#system.elapsed()
  }

  #ask(keyId: string): Promise<void> {
    this.#wanted.set(keyId, (this.#wanted.get(keyId) ?? 0) + 1)
    this.#next ??= this.#running.then(() => this.#fill())
    // If this batch fails, its callers get the error, and later callers start a new batch.
    this.#running = this.#next.catch(() => {})
    return this.#next
  }

  async #fill(): Promise<void> {
    const requested = new Map([...this.#wanted].map(([id, waiting]) => [id, Math.max(waiting, this.#part)]))
    this.#wanted = new Map()
    this.#next = undefined
    const askedAtMs = this.#system.elapsed()
    for (const [keyId, { granted, beyond, leftMs }] of await this.#take(requested)) {
      const before = this.#windows.get(keyId)
      const endsAtMs = askedAtMs + leftMs
      // Requests left in an ended window do not carry over.
      const remaining = before !== undefined && before.endsAtMs > askedAtMs ? before.left : 0
      this.#windows.delete(keyId)
      this.#windows.set(keyId, { left: remaining + granted, beyond, endsAtMs })
    }
    for (const [keyId, window] of this.#windows) {
      if (this.#leftMs(window) > 0) break
      this.#windows.delete(keyId)
    }
  }
}
