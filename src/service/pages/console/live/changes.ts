import type { Following } from '../../../../core/change-watcher.ts'
import { deadline, type System } from '../../../../core/system.ts'
import { readTimes, settingsRevision } from '../../../store/clock.ts'
import type { Store } from '../../../store/engine/store.ts'
import { allFaults } from '../../../store/faults.ts'
import { listRuns } from '../../../store/runs.ts'
import type { ConsoleDependencies } from '../serve-page.ts'

/** The interval between polls for changes that other processes made to the database. */
const pollIntervalMs = 1000
/**
 * The number of runs that each poll compares for a party: the most recently active ones. Between two polls, fewer runs
 * usually change.
 */
const maxRunsScanned = 20

/** A function that receives a party and the topics whose data changed. */
export type Changed = (partyId: string, topics: readonly string[]) => void

/**
 * The state of a party's data at a poll. Each poll compares the state that it finds with the state from the poll
 * before.
 */
interface ObservedState {
  /** The id of the last entry of each run, by run id. */
  runs: ReadonlyMap<string, string>
  /** The difference between the sandbox clock and the real clock. */
  offsetMs: number
  /**
   * A string made of the epoch, the revision of the sandbox's settings, and the counts of each fault rule. The string
   * changes whenever any of these values changes.
   */
  settings: string
}

type ChangesDependencies = Pick<ConsoleDependencies, 'store' | 'runLog' | 'waits' | 'system' | 'log'>

/**
 * A watcher for changes to the data of the parties whose console pages are open. It notices the changes made by this
 * process immediately. To find changes made by other processes, it polls the database once a second.
 */
export class Changes {
  readonly #dependencies: ChangesDependencies
  readonly #watched: () => ReadonlySet<string>
  readonly #changed: Changed
  readonly #observed = new Map<string, ObservedState>()
  #unsubscribe: (() => void) | undefined
  #following: Following | undefined
  #timer: ReturnType<typeof deadline> | undefined

  constructor(dependencies: ChangesDependencies, watched: () => ReadonlySet<string>, changed: Changed) {
    this.#dependencies = dependencies
    this.#watched = watched
    this.#changed = changed
  }

  /** Starts watching a party's data. Call this for each page that opens. */
  async begin(partyId: string): Promise<void> {
    const { runLog, waits } = this.#dependencies
    this.#unsubscribe ??= runLog.follow((stored) => {
      const parties = Map.groupBy(stored, ({ row }) => row.partyId)
      for (const [id, entries] of parties) {
        this.#changed(id, ['runs', ...new Set(entries.map(({ row }) => `run:${row.runId}`))])
      }
    })
    this.#following ??= waits.follow({
      watched: () => this.#watched(),
      onChanges: (events) => {
        for (const id of new Set(events.map((event) => event.partyId))) this.#changed(id, ['money', 'sandbox'])
      },
    })
    await this.#following.begin(partyId)
    // The first poll compares its result with this state. Without this state, changes before that poll would be missed.
    if (!this.#observed.has(partyId)) this.#observed.set(partyId, await observeState(this.#dependencies, partyId))
    this.#timer ??= deadline(pollIntervalMs, () => this.#poll())
  }

  /** Stops all watching. */
  end(): void {
    this.#unsubscribe?.()
    this.#following?.end()
    this.#timer?.clear()
    this.#unsubscribe = undefined
    this.#following = undefined
    this.#timer = undefined
    this.#observed.clear()
  }

  async #poll(): Promise<void> {
    const { log } = this.#dependencies
    try {
      for (const partyId of this.#watched()) await this.#readChanges(partyId)
    } catch (error) {
      log.warn({ err: error }, 'the console could not check for changes')
    }
    if (this.#timer !== undefined) this.#timer = deadline(pollIntervalMs, () => this.#poll())
  }

  async #readChanges(partyId: string): Promise<void> {
    const { store, system } = this.#dependencies
    const now = await observeState({ store, system }, partyId)
    const before = this.#observed.get(partyId)
    this.#observed.set(partyId, now)
    if (before === undefined) return
    const runs = [...now.runs].filter(([id, last]) => before.runs.get(id) !== last).map(([id]) => `run:${id}`)
    const wereDeleted = [...before.runs.keys()].some((id) => !now.runs.has(id)) && now.runs.size < maxRunsScanned
    const sandboxChanged = Math.abs(now.offsetMs - before.offsetMs) > pollIntervalMs || now.settings !== before.settings
    const topics = [
      ...(runs.length > 0 || wereDeleted ? ['runs', ...runs] : []),
      ...(sandboxChanged ? ['sandbox', 'money'] : []),
    ]
    if (topics.length > 0) this.#changed(partyId, topics)
  }
}

async function observeState(
  { store, system }: { store: Store; system: Pick<System, 'now'> },
  partyId: string,
): Promise<ObservedState> {
  return store.read(async (tx) => {
    const { rows } = await listRuns(tx, { partyId }, { limit: maxRunsScanned, beforeId: null })
    const { nowMs, epoch } = await readTimes(tx)
    const runs = new Map(rows.map(({ id, lastEntryId }) => [id, lastEntryId]))
    // `readTimes` has just refreshed `store.clock`, which also contains the number of fault rules.
    const faults = store.clock.sandbox.faultRules === 0 ? [] : await allFaults(tx)
    const settings = [
      epoch,
      await settingsRevision(tx),
      ...faults.map(({ id, matched, hits }) => `${id} ${matched} ${hits}`),
    ].join()
    return { runs, offsetMs: nowMs - system.now(), settings }
  })
}
