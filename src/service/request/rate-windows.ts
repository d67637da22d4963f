import type { System } from '../../core/system.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { type Lease, takeLeases } from '../store/rate-limits.ts'

export const windowMs = 60_000

/**
 * The number of shares of a limit. A process takes one share at a time, and no other process can use the rest of it.
 */
const parts = 100
/**
 * How often counting a request is tried. It is tried again if the window ends meanwhile, or if other requests take the
 * share.
 */
const maxAttempts = 10

/** The state of a credential's window in this process. */
interface Window {
  /** The number of requests that this process may accept without asking the database. */
  left: number
  /** The part of the limit that no process had claimed when this process last asked. */
  beyond: number
  /** The end of the window, by the monotonic clock. */
  endsAtMs: number
}

/** The outcome of counting a request. */
export interface Taken {
  allowed: boolean
  /** The rest of this window's limit, as far as this process knows. */
  remaining: number
  leftMs: number
}

type Take = (requested: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, Lease>>

/**
 * Counts requests in windows of a minute of real time, which begin with a credential's first request. On a database
 * server, all processes share each window: each takes a small share in advance, so that together they never exceed the
 * limit. They ask the database about a hundred times in a window, even for very many requests. Concurrent claims share
 * one statement.
 */
export class RateWindows {
  readonly #system: System
  readonly #part: number
  readonly #take: Take
  /** The windows in the order in which they began. */
  readonly #windows = new Map<string, Window>()
  /** The number of requests that wait for a share, by window. */
  #wanted = new Map<string, number>()
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(limit: number, { store, system }: { store: Store; system: System }) {
    this.#system = system
    // Several processes on one file are rare, and sharing would cost a disk write for each request.
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
    // The callers of this batch get its failure; later callers start a new one.
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
      // The rest of a window that has ended does not carry over.
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
