import type { Logger } from '../../config/log.ts'
import { deadline, type System, sha256 } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import { insertRunEntries, type NotedEntry } from '../store/runs.ts'
import type { RunEntryRow } from '../store/schema/runs.ts'

/** What is noted of a run: all of an entry but its place in it. */
export interface Note extends Omit<RunEntryRow, 'id' | 'runId' | 'recordedAtMs'> {
  instanceId: string | null
  /** What the program calls itself that acted; null: it is not known. */
  host: string | null
}

/** Somebody who hears that entries were kept, of which runs of which party. */
export type RunListener = (kept: readonly NotedEntry[]) => void

/** Entries are written together: soon after the first, or when there are many. */
const gatherMs = 50
const mostTogether = 256
/** What a database that is busy keeps from being written is dropped beyond that, and said in the log. */
const mostWaiting = 20_000

/** The run of a party that calls with an instance id belong to, as addresses name it. */
export function runIdOf(partyId: string, instanceId: string | null): string {
  return `run_${sha256(JSON.stringify([partyId, instanceId])).slice(0, 32)}`
}

/**
 * What happened in each run, for whoever watches or looks later (docs/console.md). It is written beside all requests, a
 * moment after them, so that no request waits for it: what is certain is the ledger and the activity, and a process that is
 * killed takes its last moment of this with it.
 */
export class RunLog {
  readonly #store: Store
  readonly #system: System
  readonly #log: Pick<Logger, 'warn'>
  readonly #listeners = new Set<RunListener>()
  #waiting: NotedEntry[] = []
  #timer: ReturnType<typeof deadline> | undefined
  #writing: Promise<void> = Promise.resolve()
  #last = { ms: 0, count: 0 }

  constructor({ store, system, log }: { store: Store; system: System; log: Pick<Logger, 'warn'> }) {
    this.#store = store
    this.#system = system
    this.#log = log
  }

  /** Returns at once, and never fails. */
  note({ instanceId, host, ...row }: Note): void {
    if (this.#waiting.length >= mostWaiting) {
      if (this.#waiting.length === mostWaiting)
        this.#log.warn({}, 'the database is too busy to keep what happens in runs')
      return
    }
    const runId = runIdOf(row.partyId, instanceId)
    this.#waiting.push({ row: { ...row, id: this.#nextId(row.atMs), runId }, instanceId, host })
    if (this.#waiting.length >= mostTogether) void this.flush()
    else this.#timer ??= deadline(gatherMs, () => void this.flush())
  }

  /** Resolves when all that was noted before is kept. */
  flush(): Promise<void> {
    this.#timer?.clear()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Calls back after entries were kept by this process; gives what ends that. */
  follow(listener: RunListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async #write(): Promise<void> {
    const entries = this.#waiting
    this.#waiting = []
    if (entries.length === 0) return
    try {
      await this.#store.transaction((tx) => insertRunEntries(tx, entries))
    } catch (error) {
      this.#log.warn({ err: error, entries: entries.length }, 'what happened in runs was not kept')
      return
    }
    for (const listener of this.#listeners) listener(entries)
  }

  /** Sorts behind those that this process gave before, by the service's time and, within a millisecond, by a count. */
  #nextId(atMs: number): string {
    const isLater = atMs > this.#last.ms
    this.#last = isLater ? { ms: atMs, count: 0 } : { ms: this.#last.ms, count: this.#last.count + 1 }
    const [time, count] = [this.#last.ms.toString(16).padStart(12, '0'), this.#last.count.toString(16).padStart(6, '0')]
    return `ent_${time}${count}${this.#system.randomBytes(7).toString('hex')}`
  }
}
