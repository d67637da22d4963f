import type { System } from '../../../../core/system.ts'
import type { EntryScope } from '../../../store/runs.ts'
import type { Told } from '../live/streams.ts'

/** More runs and filters than are watched at once. */
const mostKept = 500

/**
 * The newest entries of runs, drawn once for all who watch: after a page was told that something changed, the first that
 * asks has them drawn, and the others are given the same.
 */
export class NewestEntries {
  readonly #told: Told
  readonly #system: Pick<System, 'elapsed'>
  readonly #kept = new Map<string, { readMs: number; newest: Promise<string | undefined> }>()

  constructor(told: Told, system: Pick<System, 'elapsed'>) {
    this.#told = told
    this.#system = system
  }

  /** @param draw Reads and draws them; undefined: there is no such run of the party's. */
  of(scope: EntryScope, draw: () => Promise<string | undefined>): Promise<string | undefined> {
    const { partyId, runId, operation, outcome, agentId, fromMs, untilMs } = scope
    const key = JSON.stringify([partyId, runId, operation, outcome, agentId, fromMs, untilMs])
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.readMs > this.#told.toldMs) return kept.newest
    if (this.#kept.size >= mostKept) this.#kept.clear()
    const newest = draw()
    this.#kept.set(key, { readMs: this.#system.elapsed(), newest })
    newest.catch(() => this.#kept.delete(key))
    return newest
  }
}
