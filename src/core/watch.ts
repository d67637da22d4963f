import { deadline, type System } from './system.ts'

/** Where changes of parties are found, whichever process made them. */
export interface Feed<Change> {
  /** The number of the last change of each party. */
  ends(partyIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** The party's changes behind that number up to another, in their order, and the number of the last one read. */
  after(partyId: string, sequence: number, upTo: number): Promise<{ changes: readonly Change[]; last: number }>
  /** Calls back when another process may have changed something. It may fail to, so the feed is read now and then. */
  onChange(changed: () => void): () => void
}

/** Somebody who hears what a watch finds of its parties. */
export interface Follower<Change> {
  /** The parties that it wants to hear of. */
  watched(): Iterable<string>
  /** Returns at once: nobody else waits until what is told here has been passed on. */
  told(changes: readonly Change[]): void
}

/** What a follower does with the watch that it follows. */
export interface Following {
  /** As `Watch.begin`. */
  begin(partyId: string): Promise<void>
  /** Nothing is told from now on. */
  end(): void
}

interface WatchDependencies<Change> {
  feed: Feed<Change>
  /** The parties of whom somebody here wants to hear. */
  watched(): ReadonlySet<string>
  told(changes: readonly Change[]): Promise<void>
  system: Pick<System, 'elapsed'>
  limits: WatchLimits
  log: { warn(fields: object, message: string): void }
}

interface WatchLimits {
  /** How often it is looked for changes that nobody told of. */
  watchMs: number
  /** What changes within it is told together. */
  gatherMs: number
}

/** Who is about to listen does so by then. */
const openingMs = 10_000

/** Looks for changes as long as somebody here wants to hear of them: soon after one is known of, and now and then. */
export class Watch<Change> {
  readonly #dependencies: WatchDependencies<Change>
  readonly #deaf: () => void
  /** How far the changes of each party were told, and when somebody wanted to hear of them last. */
  readonly #told = new Map<string, { upTo: number; openedAtMs: number }>()
  #timer: ReturnType<typeof deadline> | undefined
  #dueAtMs = Number.POSITIVE_INFINITY
  #looking: Promise<void> = Promise.resolve()
  #closed = false

  constructor(dependencies: WatchDependencies<Change>) {
    this.#dependencies = dependencies
    this.#deaf = dependencies.feed.onChange(() => this.wake())
  }

  /** To be awaited before the party's state is read or listened to: whoever listens then hears of every change from then on. */
  async begin(partyId: string): Promise<void> {
    const { feed, system, limits } = this.#dependencies
    const upTo = this.#told.get(partyId)?.upTo ?? (await feed.ends([partyId])).get(partyId) ?? 0
    this.#told.set(partyId, { upTo: this.#told.get(partyId)?.upTo ?? upTo, openedAtMs: system.elapsed() })
    this.#lookIn(limits.watchMs)
  }

  /** Nobody here wants to hear of the party any more. */
  end(partyId: string): void {
    this.#told.delete(partyId)
    if (this.#told.size > 0) return
    this.#timer?.clear()
    this.#dueAtMs = Number.POSITIVE_INFINITY
  }

  /** Whether changes of the party are looked for. */
  has(partyId: string): boolean {
    return this.#told.has(partyId)
  }

  /** Something may have changed. */
  wake(): void {
    if (this.#told.size > 0) this.#lookIn(this.#dependencies.limits.gatherMs)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#deaf()
    this.#timer?.clear()
    await this.#looking
  }

  #lookIn(ms: number): void {
    const { system } = this.#dependencies
    const dueAtMs = system.elapsed() + ms
    if (this.#closed || dueAtMs >= this.#dueAtMs) return
    this.#timer?.clear()
    this.#dueAtMs = dueAtMs
    this.#timer = deadline(ms, () => {
      this.#looking = this.#looking.then(() => this.#lookAndGoOn())
    })
  }

  async #lookAndGoOn(): Promise<void> {
    const { limits, log } = this.#dependencies
    this.#dueAtMs = Number.POSITIVE_INFINITY
    try {
      await this.#look()
    } catch (error) {
      log.warn({ err: error }, 'changes were not looked for')
    }
    if (this.#told.size > 0) this.#lookIn(limits.watchMs)
  }

  async #look(): Promise<void> {
    const { feed, watched, told, system } = this.#dependencies
    const parties = watched()
    for (const [partyId, { openedAtMs }] of this.#told) {
      if (!parties.has(partyId) && system.elapsed() - openedAtMs > openingMs) this.#told.delete(partyId)
    }
    for (const [partyId, end] of await feed.ends([...this.#told.keys()])) {
      for (let party = this.#told.get(partyId); party !== undefined && party.upTo < end; ) {
        const { changes, last } = await feed.after(partyId, party.upTo, end)
        party.upTo = last
        await told(changes)
      }
    }
  }
}
