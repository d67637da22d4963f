import type { Logger } from '../../config/log.ts'
import { maskKeptText } from '../../core/masking.ts'
import { deadline, type System, sha256 } from '../../core/system.ts'
import { entryIdFrom, type RunDetail, spentCents } from '../rules/runs.ts'
import type { Posted } from '../store/engine/journal.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { insertRunEntries, type NotedEntry, type RecordOfRun, recordsOfRuns } from '../store/runs.ts'
import type { RunEntryRow } from '../store/schema/runs.ts'

/** An entry of a run, without its place in the run. */
export interface Note extends Omit<RunEntryRow, 'id' | 'runId' | 'recordedAtMs' | 'keyHash'> {
  keyHash?: string | null
  /** The sandbox's epoch at `atMs`; undefined for the epoch in which the entry is written. */
  epoch?: number | undefined
  instanceId: string | null
  /** The self-reported name of the acting program; null if unknown. */
  host: string | null
  /** The money that the event took from the party's available balance. */
  spentCents: number
}

interface Happened extends Posted {
  id: string
  epoch: number
}

interface RunLogOptions {
  store: Store
  system: System
  log: Pick<Logger, 'warn'>
  /** If false, nothing is stored. */
  keeps?: boolean
}

/** A listener that is called with the stored entries. */
export type RunListener = (entries: readonly NotedEntry[]) => void

/** Entries are written together: soon after the first, or when there are many. */
const gatherMs = 50
const maxBatch = 256
/** After this many refusals in a row, the database is assumed to be the problem, not an entry. */
const maxRefused = 8
/** How long to wait before a busy database is tried again. */
const againAfterMs = 1000
const maxTries = 30
/** If the database stays busy, entries beyond these limits are dropped, and a warning is logged. */
const maxWaiting = 20_000
const maxCharacters = 32 * 1024 * 1024

/** Returns the id of the run with this instance id. The addresses of the run's pages contain the id. */
export function runIdOf(partyId: string, instanceId: string | null): string {
  return `run_${sha256(JSON.stringify([partyId, instanceId])).slice(0, 32)}`
}

/**
 * Returns the name that links the entries of a tool call. It is derived from the credential, so nobody can add an entry
 * to another credential's tool call.
 */
export const toolCallName = (as: 'call' | 'read', keyId: string, id: string) =>
  `${as}_${sha256(JSON.stringify([keyId, id])).slice(0, 24)}`

/**
 * Records the events of each run for the console (docs/console.md). Entries are written a moment after their requests,
 * so that no request waits for them. A killed process loses its last entries, but never the ledger or the activity.
 */
export class RunLog {
  readonly #store: Store
  readonly #system: System
  readonly #log: Pick<Logger, 'warn'>
  readonly #listeners = new Set<RunListener>()
  #waiting: NotedEntry[] = []
  /** Timed events whose run is not known yet. */
  #happened: Happened[] = []
  #characters = 0
  #isFull = false
  #tries = 0
  #timer: ReturnType<typeof deadline> | undefined
  #writing: Promise<void> = Promise.resolve()
  #last = { ms: 0, count: 0, epoch: 0 }

  readonly #keeps: boolean
  /** Distinguishes the ids of this process from those of other processes. */
  #tag: string | undefined

  constructor({ store, system, log, keeps = true }: RunLogOptions) {
    this.#store = store
    this.#system = system
    this.#log = log
    this.#keeps = keeps
  }

  /** Adds an entry. It returns at once and never fails. */
  note({ instanceId, host, epoch, spentCents: spent, keyHash = null, ...row }: Note): void {
    if (!this.#takesMore()) return
    const runId = runIdOf(row.partyId, instanceId)
    const id = this.#nextId(row.atMs, epoch)
    this.#waiting.push({
      row: { ...row, id, runId, keyHash },
      instanceId: shownId(instanceId),
      host,
      epoch,
      spentCents: spent,
    })
    this.#characters += row.detail.length
    this.#writeSoon()
  }

  /**
   * Notes the postings of due effects after their transaction was committed. Each belongs to the run that created its
   * record.
   */
  posted(postings: readonly Posted[]): void {
    const { epoch } = this.#store.clock
    for (const posted of postings) {
      if (!posted.byItself || !this.#takesMore()) continue
      this.#happened.push({ ...posted, id: this.#nextId(posted.nowMs, epoch), epoch })
      this.#writeSoon()
    }
  }

  #takesMore(): boolean {
    if (!this.#keeps) return false
    if (this.#length < maxWaiting && this.#characters < maxCharacters) return true
    if (!this.#isFull) this.#log.warn({}, 'the database is too busy to record run entries')
    this.#isFull = true
    return false
  }

  /** Returns the number of waiting entries. */
  get #length(): number {
    return this.#waiting.length + this.#happened.length
  }

  #writeSoon(): void {
    if (this.#length === maxBatch) void this.flush()
    else this.#writeIn(gatherMs)
  }

  /** Resolves once all earlier entries are stored, or the database is too busy to store them. */
  flush(): Promise<void> {
    this.#timer?.clear()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeAll())
    return this.#writing
  }

  /** Calls the listener whenever this process has stored entries. Returns a function that ends this. */
  follow(listener: RunListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #writeIn(ms: number): void {
    this.#timer ??= deadline(ms, () => void this.flush())
  }

  /** Writes the waiting entries. Entries that arrive meanwhile are written now or soon after. */
  async #writeAll(): Promise<void> {
    for (let left = this.#length; left > 0; ) {
      let isPlaced = false
      try {
        await this.#placeHappened()
        isPlaced = true
        await this.#writeNext(Math.min(maxBatch, this.#waiting.length))
      } catch (error) {
        const isAgain = error instanceof StoreBusyError && ++this.#tries < maxTries
        if (isAgain) return this.#writeIn(againAfterMs)
        if (isPlaced) this.#drop(this.#waiting.slice(0, maxBatch), error)
        else this.#dropHappened(error)
      }
      if (isPlaced) left -= maxBatch
      this.#isFull = false
      this.#tries = 0
    }
  }

  /**
   * Writes the next `count` waiting entries. If the database refuses an entry, retries in ever smaller parts, and drops
   * only the refused entry.
   */
  async #writeNext(count: number): Promise<void> {
    let [left, size, refusedCount] = [count, count, 0]
    while (left > 0) {
      const entries = this.#waiting.slice(0, Math.min(size, left))
      const error = await this.#write(entries)
      if (error !== undefined && entries.length > 1 && refusedCount < maxRefused) {
        size = Math.ceil(entries.length / 2)
        continue
      }
      if (error !== undefined) this.#drop(entries, error)
      refusedCount = error === undefined ? 0 : refusedCount + 1
      left -= entries.length
      size = refusedCount < maxRefused ? 2 * size : left
    }
  }

  /** Writes entries. Returns the error if they cannot be written. */
  async #write(entries: readonly NotedEntry[]): Promise<unknown> {
    let stored: readonly NotedEntry[]
    try {
      stored = await this.#store.transaction((tx) => insertRunEntries(tx, entries), { kind: 'keep runs' })
    } catch (error) {
      if (error instanceof StoreBusyError) throw error
      return error
    }
    this.#release(entries)
    if (stored.length > 0) for (const listener of this.#listeners) listener(stored)
    return undefined
  }

  #drop(entries: readonly NotedEntry[], err: unknown): void {
    this.#log.warn({ err, entries: entries.length }, 'run entries were lost')
    this.#release(entries)
  }

  #dropHappened(err: unknown): void {
    const entries = Math.min(this.#happened.length, maxBatch)
    this.#log.warn({ err, entries }, 'run entries were lost')
    this.#happened = this.#happened.slice(entries)
  }

  /** Removes entries from the front of the queue. */
  #release(entries: readonly NotedEntry[]): void {
    this.#waiting = this.#waiting.slice(entries.length)
    this.#characters -= entries.reduce((sum, { row }) => sum + row.detail.length, 0)
  }

  async #placeHappened(): Promise<void> {
    const happened = this.#happened.slice(0, maxBatch)
    if (happened.length === 0) return
    const placed: NotedEntry[] = []
    for (const [partyId, of] of Map.groupBy(happened, (one) => one.partyId)) {
      const ids = [...new Set(of.flatMap(({ sourceId }) => sourceId ?? []))]
      const records = await this.#store.read((tx) => recordsOfRuns(tx, partyId, ids))
      const byId = new Map(records.map((record) => [record.id, record]))
      placed.push(...of.flatMap((one) => entryOf(one, byId.get(one.sourceId ?? '')) ?? []))
    }
    this.#waiting.push(...placed)
    this.#happened = this.#happened.slice(happened.length)
  }

  /**
   * Returns an id that sorts after this process's earlier ids: by the service's time and, within a millisecond, by a
   * count. Only a new epoch may begin at an earlier time.
   */
  #nextId(atMs: number, epoch = this.#last.epoch): string {
    const { ms, count, epoch: before } = this.#last
    // Entries noted before any epoch was known belong to the first known epoch.
    const isAnew = before > 0 && epoch > before
    const next = isAnew || atMs > ms ? { ms: atMs, count: 0 } : { ms, count: count + 1 }
    this.#last = { ...next, epoch: Math.max(epoch, before) }
    const place = next.count.toString(16).padStart(6, '0')
    this.#tag ??= this.#system.randomBytes(7).toString('hex')
    return `${entryIdFrom(next.ms)}${place}${this.#tag}`
  }
}

function shownId(instanceId: string | null): string | null {
  return instanceId === null ? null : maskKeptText(instanceId)
}

/** Returns the entry of a due effect; undefined if it belongs to no run. */
function entryOf({ partyId, posting, sourceId, nowMs, id, epoch }: Happened, of?: RecordOfRun): NotedEntry | undefined {
  if (of === undefined) return undefined
  const detail: RunDetail = { postings: [{ ...posting, sourceId }], resourceIds: [of.id] }
  const row: NotedEntry['row'] = {
    partyId,
    id,
    runId: runIdOf(partyId, of.instanceId),
    kind: 'happened',
    operation: posting.reason,
    agentId: of.agentId,
    outcome: 'happened',
    status: null,
    code: null,
    fault: null,
    ms: null,
    supportId: null,
    keyHash: null,
    toolCall: null,
    counterparty: null,
    detail: JSON.stringify(detail),
    atMs: nowMs,
    amountCents: Math.max(...posting.entries.map(({ amountCents }) => amountCents)),
  }
  return { row, instanceId: shownId(of.instanceId), host: null, epoch, spentCents: spentCents([posting]) }
}
