import { ChangeWatcher, type Follower, type Following } from '../../core/change-watcher.ts'
import type { System } from '../../core/system.ts'
import { changesTopic, clockTopic, type Signals } from '../store/engine/signals.ts'
import type { Store } from '../store/engine/store.ts'
import { eventFeed } from '../store/events.ts'
import type { EventRow } from '../store/schema/events.ts'
import { FairReads } from './fair-reads.ts'

/** The resource that a caller waits for, and the caller's credential. */
export interface WaitTarget {
  resourceId: string
  partyId: string
  keyId: string
}

/** The maximum number of waiting requests for one credential. No single host needs that many. */
export const maxPerCredential = 64
/** The maximum number of waiting requests in this process, which limits the memory that they use. */
const maxWaits = 20_000

/** The pause before the next check for changes: `gatherMs` after a signal, `watchMs` without a signal. */
const limits = { watchMs: 1_000, gatherMs: 20 }

/** One waiting request. */
export class WaitingRequest {
  readonly target: WaitTarget
  #wake = Promise.withResolvers<void>()

  constructor(target: WaitTarget) {
    this.target = target
  }

  /** Resolves at the next change of the resource. Call it before reading the resource, so that no change is missed. */
  next(): Promise<void> {
    this.#wake = Promise.withResolvers()
    return this.#wake.promise
  }

  wake(): void {
    this.#wake.resolve()
  }
}

/**
 * This process's waiting requests. A single reader of the event outbox wakes a request when the request's resource
 * changes, no matter which process made the change.
 */
export class WaitingRequests {
  readonly reads = new FairReads()
  readonly #watch: ChangeWatcher<EventRow>
  readonly #byResource = new Map<string, Set<WaitingRequest>>()
  readonly #countByParty = new Map<string, number>()
  readonly #countByCredential = new Map<string, number>()
  readonly #followers = new Set<Follower<EventRow>>()
  #signals: Signals | undefined
  #unsubscribe: (() => void)[] = []
  #count = 0
  #ended = false

  constructor({
    store,
    system,
    log,
  }: { store: Store; system: System; log: { warn(fields: object, message: string): void } }) {
    const feed = { ...eventFeed(store), onChange: () => () => {} }
    this.#watch = new ChangeWatcher({
      feed,
      watched: () =>
        new Set([...this.#countByParty.keys(), ...[...this.#followers].flatMap((one) => [...one.watched()])]),
      onChanges: this.#onEvents,
      system,
      limits,
      log,
    })
  }

  /** Returns whether the process is shutting down, so that no request may wait any longer. */
  get ended(): boolean {
    return this.#ended
  }

  /**
   * Connects this process to the other processes that use the same database. The processes then signal changes to each
   * other. Without signals, each process finds the changes of others only by polling.
   */
  connect(signals: Signals): void {
    this.#signals = signals
    this.#unsubscribe = [
      signals.subscribe(changesTopic, () => this.#watch.wake()),
      signals.subscribe(clockTopic, () => this.#wakeEach()),
    ]
  }

  /** Adds a follower, which gets its events from this process's single reader of the event outbox. */
  follow(follower: Follower<EventRow>): Following {
    this.#followers.add(follower)
    return {
      begin: (partyId) => this.#watch.begin(partyId),
      end: () => void this.#followers.delete(follower),
    }
  }

  /** Begins a wait. Returns undefined if too many requests are waiting already: the new request must not wait. */
  async begin(target: WaitTarget): Promise<WaitingRequest | undefined> {
    const { resourceId, partyId, keyId } = target
    const waitCount = this.#countByCredential.get(keyId) ?? 0
    if (waitCount >= maxPerCredential || this.#count >= maxWaits) return undefined
    const wait = new WaitingRequest(target)
    const same = this.#byResource.get(resourceId) ?? new Set()
    this.#byResource.set(resourceId, same.add(wait))
    this.#countByCredential.set(keyId, waitCount + 1)
    this.#countByParty.set(partyId, (this.#countByParty.get(partyId) ?? 0) + 1)
    this.#count += 1
    try {
      await this.#watch.begin(partyId)
      return wait
    } catch (error) {
      this.end(wait)
      throw error
    }
  }

  end(wait: WaitingRequest): void {
    const { resourceId, partyId, keyId } = wait.target
    const same = this.#byResource.get(resourceId)
    if (same?.delete(wait) !== true) return
    if (same.size === 0) this.#byResource.delete(resourceId)
    decrement(this.#countByCredential, keyId)
    // A follower may still need the party. In that case, the watcher itself stops watching the party once no follower
    // needs it.
    if (decrement(this.#countByParty, partyId) === 0 && this.#followers.size === 0) this.#watch.end(partyId)
    this.#count -= 1
  }

  /**
   * Reports that this process has changed the given parties. Schedules a check for changes if one of the parties is
   * watched, and signals the change to other processes.
   */
  noteChanges(partyIds: ReadonlySet<string>): void {
    this.#signals?.send(changesTopic)
    for (const partyId of partyIds) {
      if (!this.#watch.has(partyId)) continue
      this.#watch.wake()
      return
    }
  }

  /**
   * Wakes the waiting requests of all processes after the sandbox clock was moved. A resource may have expired without
   * adding an event that would wake the requests.
   */
  wakeAll(): void {
    this.#signals?.send(clockTopic)
    this.#wakeEach()
  }

  #wakeEach(): void {
    for (const waits of this.#byResource.values()) for (const wait of waits) wait.wake()
  }

  /** Ends all waits immediately. From now on, a new wait ends as soon as it begins. */
  stop(): void {
    this.#ended = true
    this.#wakeEach()
  }

  async close(): Promise<void> {
    this.stop()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.#watch.close()
  }

  readonly #onEvents = async (events: readonly EventRow[]): Promise<void> => {
    for (const { resourceId } of events) for (const wait of this.#byResource.get(resourceId) ?? []) wait.wake()
    for (const follower of this.#followers) follower.onChanges(events)
  }
}

/** Decrements a count. Returns the new count. */
function decrement(counts: Map<string, number>, key: string): number {
  const left = (counts.get(key) ?? 0) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
  return left
}
