import { deadline, type System } from './system.ts'

/** A source of the stored changes to parties, no matter which process made them. */
export interface Feed<Change> {
  /** Returns the sequence number of each party's last change. */
  lastSequences(partyIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /**
   * Returns the party's changes with numbers above `sequence` and at most `upTo`, in order. May return only a part of
   * them; `last` is the number up to which changes were read.
   */
  after(partyId: string, sequence: number, upTo: number): Promise<{ changes: readonly Change[]; last: number }>
  /**
   * Calls `changed` when another process may have changed something, and returns a function that unsubscribes. A
   * notification may be lost, so the watcher also polls the feed.
   */
  onChange(changed: () => void): () => void
}

/** A listener for the changes that a watcher finds. */
export interface Follower<Change> {
  /** Returns the parties whose changes the follower wants. */
  watched(): Iterable<string>
  /** Receives the changes to all watched parties. Must return immediately, so that other followers do not wait. */
  onChanges(changes: readonly Change[]): void
}

/** The functions with which a follower controls its subscription. */
export interface Following {
  /** Starts watching a party, as `ChangeWatcher.begin` does. */
  begin(partyId: string): Promise<void>
  /** Stops reporting changes to the follower. */
  end(): void
}

interface WatchDependencies<Change> {
  feed: Feed<Change>
  /** Returns the parties whose changes are still needed in this process. */
  watched(): ReadonlySet<string>
  onChanges(changes: readonly Change[]): Promise<void>
  system: Pick<System, 'elapsed'>
  limits: WatchLimits
  log: { warn(fields: object, message: string): void }
}

interface WatchLimits {
  /** How long to wait between regular checks, which find the changes that no notification announced. */
  watchMs: number
  /** How long to wait after a notification, so that changes in quick succession are reported together. */
  gatherMs: number
}

/** How long a party stays watched after `begin`, even if its changes are not needed. */
const graceMs = 10_000

/** Checks watched parties for changes, soon after a notification and at regular intervals, and reports the changes. */
export class ChangeWatcher<Change> {
  readonly #dependencies: WatchDependencies<Change>
  readonly #unsubscribe: () => void
  /** For each watched party, the number of the last reported change, and the time of the last call of `begin`. */
  readonly #reported = new Map<string, { upTo: number; openedAtMs: number }>()
  #timer: ReturnType<typeof deadline> | undefined
  #dueAtMs = Number.POSITIVE_INFINITY
  #checks: Promise<void> = Promise.resolve()
  #closed = false

  constructor(dependencies: WatchDependencies<Change>) {
    this.#dependencies = dependencies
    this.#unsubscribe = dependencies.feed.onChange(() => this.wake())
  }

  /**
   * Starts watching a party. Await this before reading the party's state. Then every change after that read is
   * reported.
   */
  async begin(partyId: string): Promise<void> {
    const { feed, system, limits } = this.#dependencies
    const upTo = this.#reported.get(partyId)?.upTo ?? (await feed.lastSequences([partyId])).get(partyId) ?? 0
    this.#reported.set(partyId, { upTo: this.#reported.get(partyId)?.upTo ?? upTo, openedAtMs: system.elapsed() })
    this.#checkIn(limits.watchMs)
  }

  /** Stops watching the party. */
  end(partyId: string): void {
    this.#reported.delete(partyId)
    if (this.#reported.size > 0) return
    this.#timer?.clear()
    this.#dueAtMs = Number.POSITIVE_INFINITY
  }

  /** Returns whether the party is watched. */
  has(partyId: string): boolean {
    return this.#reported.has(partyId)
  }

  /** Schedules a check for changes after a short delay (`gatherMs`). */
  wake(): void {
    if (this.#reported.size > 0) this.#checkIn(this.#dependencies.limits.gatherMs)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unsubscribe()
    this.#timer?.clear()
    await this.#checks
  }

  #checkIn(ms: number): void {
    const { system } = this.#dependencies
    const dueAtMs = system.elapsed() + ms
    if (this.#closed || dueAtMs >= this.#dueAtMs) return
    this.#timer?.clear()
    this.#dueAtMs = dueAtMs
    this.#timer = deadline(ms, () => {
      this.#checks = this.#checks.then(() => this.#checkAndReschedule())
    })
  }

  async #checkAndReschedule(): Promise<void> {
    const { limits, log } = this.#dependencies
    this.#dueAtMs = Number.POSITIVE_INFINITY
    try {
      await this.#readChanges()
    } catch (error) {
      log.warn({ err: error }, 'could not look for changes')
    }
    if (this.#reported.size > 0) this.#checkIn(limits.watchMs)
  }

  async #readChanges(): Promise<void> {
    const { feed, watched, onChanges, system } = this.#dependencies
    const parties = watched()
    for (const [partyId, { openedAtMs }] of this.#reported) {
      if (!parties.has(partyId) && system.elapsed() - openedAtMs > graceMs) this.#reported.delete(partyId)
    }
    for (const [partyId, end] of await feed.lastSequences([...this.#reported.keys()])) {
      for (let party = this.#reported.get(partyId); party !== undefined && party.upTo < end; ) {
        const { changes, last } = await feed.after(partyId, party.upTo, end)
        party.upTo = last
        await onChanges(changes)
      }
    }
  }
}
