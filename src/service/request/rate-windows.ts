import type { System } from '../../core/system.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { type Lease, takeLeases } from '../store/rate-limits.ts'

export const windowMs = 60_000

/**
 * The number of shares into which a limit is divided. A process usually reserves one share at a time. Other processes
 * cannot use a reserved share, even if part of it stays unused.
 */
const shareCount = 100
/**
 * The maximum number of attempts to count a request. An attempt fails if the window ends during the attempt, or if
 * other requests use up the reserved share first.
 */
const maxAttempts = 10

/** A credential's current window, as this process knows it. */
interface Window {
  /** The number of requests that this process may accept without asking the database. */
  left: number
  /** The part of the limit that no process had reserved when this process last asked the database. */
  beyond: number
  /** The end of the window, by the monotonic clock. */
  endsAtMs: number
}

/** The outcome of counting a request. */
export interface CountResult {
  allowed: boolean
  /** How many more requests the window allows, as far as this process knows. */
  remaining: number
  leftMs: number
}

type Take = (requested: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, Lease>>

/**
 * Counts each credential's requests in windows of one minute by the real clock. A window begins with the first request
 * after the previous window has ended. On a database server, all processes share each window: each process reserves
 * small shares of the limit in advance, so that all processes together never exceed the limit. One window of a
 * credential takes about a hundred statements, however many requests arrive. If several credentials need shares at the
 * same time, one statement reserves all these shares.
 */
export class RateWindows {
  readonly #system: System
  readonly #share: number
  readonly #take: Take
  /** The windows by key id. The window whose latest reservation is the oldest comes first. */
  readonly #windows = new Map<string, Window>()
  /** The number of requests that need another share, by key id. */
  #wanted = new Map<string, number>()
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(limit: number, { store, system }: { store: Store; system: System }) {
    this.#system = system
    // If the database is a file, each process counts separately. Several processes rarely use the same file, and shared
    // windows would cost disk writes.
    const isShared = store.dialect === 'postgres'
    this.#share = isShared ? Math.max(1, Math.floor(limit / shareCount)) : limit
    this.#take = isShared
      ? (requested) => store.aside((tx) => takeLeases(tx, requested, { limit, windowMs }))
      : async (requested) =>
          new Map([...requested].map(([id]) => [id, { granted: limit, beyond: 0, leftMs: windowMs }]))
  }

  /** Counts a request. @throws StoreBusyError if the database is too busy, or if all attempts fail. */
  async count(keyId: string): Promise<CountResult> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const window = this.#windows.get(keyId)
      if (window !== undefined && this.#leftMs(window) > 0) {
        if (window.left > 0) return this.#allow(keyId, window)
        if (window.beyond === 0) return { allowed: false, remaining: 0, leftMs: this.#leftMs(window) }
      }
      await this.#ask(keyId)
    }
    throw new StoreBusyError('Too many requests from one credential are waiting to be counted.')
  }

  #allow(keyId: string, window: Window): CountResult {
    window.left -= 1
    // The next share is reserved in advance, so that no request has to wait for it. An error is ignored here, because
    // the first request that needs the share asks for it again.
    if (window.beyond > 0 && window.left > 0 && window.left === Math.floor(this.#share / 4)) {
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
    // A batch reserves the shares for all requests that are waiting. If the batch fails, these requests get the error,
    // and later requests start a new batch.
    this.#running = this.#next.catch(() => {})
    return this.#next
  }

  async #fill(): Promise<void> {
    const requested = new Map([...this.#wanted].map(([id, waiting]) => [id, Math.max(waiting, this.#share)]))
    this.#wanted = new Map()
    this.#next = undefined
    const askedAtMs = this.#system.elapsed()
    for (const [keyId, { granted, beyond, leftMs }] of await this.#take(requested)) {
      const previous = this.#windows.get(keyId)
      const endsAtMs = askedAtMs + leftMs
      // The unused part of an ended window does not carry over to the next window.
      const remaining = previous !== undefined && previous.endsAtMs > askedAtMs ? previous.left : 0
      this.#windows.delete(keyId)
      this.#windows.set(keyId, { left: remaining + granted, beyond, endsAtMs })
    }
    for (const [keyId, window] of this.#windows) {
      if (this.#leftMs(window) > 0) break
      this.#windows.delete(keyId)
    }
  }
}
