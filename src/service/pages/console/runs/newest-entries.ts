import type { System } from '../../../../core/system.ts'
import type { EntryScope } from '../../../store/runs.ts'
import type { Announcements } from '../live/streams.ts'

/**
 * The maximum number of results in the cache. In normal use, fewer combinations of run and filter are open at the same
 * time.
 */
const maxCached = 500

/**
 * A cache of rendered newest entries, by run and filter. The first request after a change renders the entries, and
 * later requests get the same HTML.
 */
export class NewestEntries {
  readonly #announcements: Announcements
  readonly #system: Pick<System, 'elapsed'>
  readonly #cache = new Map<string, { readMs: number; newest: Promise<string | undefined> }>()

  constructor(announcements: Announcements, system: Pick<System, 'elapsed'>) {
    this.#announcements = announcements
    this.#system = system
  }

  /**
   * Returns the newest entries for a run and a filter.
   * @param render Reads and renders the entries, or returns undefined if the party has no such run.
   */
  get(scope: EntryScope, render: () => Promise<string | undefined>): Promise<string | undefined> {
    const { partyId, runId, operation, outcome, agentId, fromMs, untilMs } = scope
    const key = JSON.stringify([partyId, runId, operation, outcome, agentId, fromMs, untilMs])
    const cached = this.#cache.get(key)
    if (cached !== undefined && cached.readMs > this.#announcements.announcedMs) return cached.newest
    if (this.#cache.size >= maxCached) this.#cache.clear()
    const newest = render()
    this.#cache.set(key, { readMs: this.#system.elapsed(), newest })
    newest.catch(() => this.#cache.delete(key))
    return newest
  }
}
