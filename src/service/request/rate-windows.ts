import type { System } from '../../core/system.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { type Lease, takeLeases } from '../store/rate-limits.ts'

export const windowMs = 60_000

/**
 * The number of shares that a limit is divided into. A process usually takes one share at a time. Other processes
 * cannot use the rest of that share.
 */
const shareCount = 100
/**
 * The maximum number of attempts to count a request. An attempt fails if the window ends meanwhile, or if other
 * requests use up the share.
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
export interface CountResult {
  allowed: boolean
  /** How many more requests the window allows, as far as this process knows. */
  remaining: number
  leftMs: number
}

type Take = (requested: ReadonlyMap<string, number>) => Promise<ReadonlyMap<string, Lease>>

/**
 * Counts requests in windows of one minute by the real clock. A window begins with a credential's first request. On a
 * database server, all processes share each window. Each process reserves a small share of the limit in advance, so
 * that together they never exceed it. This takes about a hundred statements per window, however many requests arrive.
 * Shares that several credentials need at the same time are reserved with one statement.
 */
export class RateWindows {
  readonly #system: System
  readonly #share: number
  readonly #take: Take
  /** The windows in the order in which they began. */
  readonly #windows = new Map<string, Window>()
  /** The number of requests that wait for a share, by key id. */
  #wanted = new Map<string, number>()
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(limit: number, { store, system }: { store: Store; system: System }) {
    this.#system = system
    // With a database file, each process counts separately. Several processes rarely use one file, and sharing would
    // cost disk writes.
    const isShared = store.dialect === 'postgres'
    this.#share = isShared ? Math.max(1, Math.floor(limit / shareCount)) : limit
    this.#take = isShared
      ? (requested) => store.aside((tx) => takeLeases(tx, requested, { limit, windowMs }))
      : async (requested) =>
          new Map([...requested].map(([id]) => [id, { granted: limit, beyond: 0, leftMs: windowMs }]))
  }

  /** Counts a request. @throws StoreBusyError if the database is too busy to reserve a share. */
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
    // The next share is reserved in advance, so that no request has to wait for it. An error is ignored here: the first
    // request that needs the share tries again.
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
    // If this batch fails, its callers get the error, and later callers start a new batch.
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
      // The rest of an ended window does not carry over to the next window.
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
