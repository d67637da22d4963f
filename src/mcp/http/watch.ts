import type { Log } from '../../client/client.ts'
import { deadline, type System } from '../../core/system.ts'
import { addressOf, kindEntries } from '../resources/kinds.ts'
import type { Limits } from './limits.ts'

/** What was changed with a credential. */
export interface Change {
  principalId: string
  resourceIds: readonly string[]
  instanceId: string | null
  customerPartyId: string | null
}

/** Where changes are found, whichever process made them. */
export interface ChangeFeed {
  /** The number of the last change of each party. */
  ends(partyIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** The party's changes behind that number up to another, in their order, and the number of the last one read. */
  after(partyId: string, sequence: number, upTo: number): Promise<{ changes: readonly Change[]; last: number }>
  /** Calls back when another process may have changed something. It may fail to, so the feed is read now and then. */
  onChange(changed: () => void): () => void
}

interface WatchDependencies {
  feed: ChangeFeed
  /** The parties whose hosts read a stream here. */
  watched(): ReadonlySet<string>
  told(changes: readonly Change[]): Promise<void>
  system: Pick<System, 'elapsed'>
  limits: Pick<Limits, 'watchMs' | 'gatherMs'>
  log: Log
}

/** A stream that is about to be opened is so by then. */
const openingMs = 10_000

/** Looks for changes as long as hosts read streams here: soon after one is known of, and now and then. */
export class Watch {
  readonly #dependencies: WatchDependencies
  readonly #deaf: () => void
  /** How far the changes of each party were told, and when a stream of it was opened last. */
  readonly #told = new Map<string, { upTo: number; openedAtMs: number }>()
  #timer: ReturnType<typeof deadline> | undefined
  #dueAtMs = Number.POSITIVE_INFINITY
  #looking: Promise<void> = Promise.resolve()
  #closed = false

  constructor(dependencies: WatchDependencies) {
    this.#dependencies = dependencies
    this.#deaf = dependencies.feed.onChange(() => this.wake())
  }

  /** To be awaited before a host of the party gets its stream: from then on it hears of every change. */
  async begin(partyId: string): Promise<void> {
    const { feed, system, limits } = this.#dependencies
    const upTo = this.#told.get(partyId)?.upTo ?? (await feed.ends([partyId])).get(partyId) ?? 0
    this.#told.set(partyId, { upTo: this.#told.get(partyId)?.upTo ?? upTo, openedAtMs: system.elapsed() })
    this.#lookIn(limits.watchMs)
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

/** The addresses of what was changed: each resource that a host can watch, and the activity of the run. */
export function addressesOf({ resourceIds, instanceId, customerPartyId }: Change): string[] {
  const customer = customerPartyId ?? undefined
  const addresses = resourceIds.flatMap((id) => {
    const kind = kindEntries.find(([, { read, id: name }]) => read.params?.shape[name]?.safeParse(id).success)
    return kind === undefined ? [] : addressOf(kind[0], id, customer)
  })
  return instanceId === null ? addresses : [...addresses, addressOf('activity', instanceId)]
}
