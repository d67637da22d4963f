import type { Logger } from '../../config/log.ts'
import { maskKeptText } from '../../core/masking.ts'
import { deadline, type System, sha256 } from '../../core/system.ts'
import { entryIdFrom, type RunDetail, spentCents } from '../rules/runs.ts'
import type { Posted } from '../store/engine/journal.ts'
import { type Store, StoreBusyError } from '../store/engine/store.ts'
import { insertRunEntries, type NotedEntry, type RecordOfRun, recordsOfRuns } from '../store/runs.ts'
import type { RunEntryRow } from '../store/schema/runs.ts'

/** An entry to add to a run. The run log adds the id of the entry and the id of the run. */
export interface Note extends Omit<RunEntryRow, 'id' | 'runId' | 'recordedAtMs' | 'keyHash'> {
  keyHash?: string | null
  /** The sandbox's epoch at `atMs`; undefined means the epoch in which the entry is stored. */
  epoch?: number | undefined
  instanceId: string | null
  /** The self-reported name of the acting program; null if unknown. */
  host: string | null
  /** The money that the event took from the party's available balance. */
  spentCents: number
}

/** A posting that a due effect made and that is to become an entry of a run. */
interface DuePosting extends Posted {
  id: string
  epoch: number
}

interface RunLogOptions {
  store: Store
  system: System
  log: Pick<Logger, 'warn'>
  /** Whether entries are stored (default: true). */
  keeps?: boolean
}

/** A function that is called with entries after they have been stored. */
export type RunListener = (entries: readonly NotedEntry[]) => void

/** A batch of entries is stored this long after its first entry was added, or earlier if the batch is full. */
const gatherMs = 50
const maxBatch = 256
/** If the database refuses this many entries in a row, the database is assumed to be the problem, not the entries. */
const maxRefused = 8
/** The pause before the next try if the database is busy. */
const retryAfterMs = 1000
const maxTries = 30
/** The limits of the queue. If a limit is reached, new entries are dropped and a warning is logged. */
const maxWaiting = 20_000
const maxCharacters = 32 * 1024 * 1024

/** Returns the id of a party's run with the given instance id. The URLs of the run's pages contain the returned id. */
export function runIdOf(partyId: string, instanceId: string | null): string {
  return `run_${sha256(JSON.stringify([partyId, instanceId])).slice(0, 32)}`
}

/**
 * Returns the name that links an entry to a tool call: a `call` name for the call itself, and a `read` name for the
 * reads that the call makes. The name is derived from the credential, so nobody can add an entry to the tool call of a
 * different credential.
 */
export const toolCallName = (as: 'call' | 'read', keyId: string, id: string) =>
  `${as}_${sha256(JSON.stringify([keyId, id])).slice(0, 24)}`

/**
 * Records the events of each run for the console (docs/console.md). An entry is stored a moment after the request that
 * it records, so that the request does not wait for the write. If the process is killed, the entries that are not
 * stored yet are lost, but nothing else.
 */
export class RunLog {
  readonly #store: Store
  readonly #system: System
  readonly #log: Pick<Logger, 'warn'>
  readonly #listeners = new Set<RunListener>()
  #waiting: NotedEntry[] = []
  /** Postings made by due effects. The runs that they belong to have not been looked up yet. */
  #duePostings: DuePosting[] = []
  #characters = 0
  #isFull = false
  #tries = 0
  #timer: ReturnType<typeof deadline> | undefined
  #writing: Promise<void> = Promise.resolve()
  #last = { ms: 0, count: 0, epoch: 0 }

  readonly #keeps: boolean
  /** The random part of this process's entry ids. It makes the ids differ from those of other processes. */
  #tag: string | undefined

  constructor({ store, system, log, keeps = true }: RunLogOptions) {
    this.#store = store
    this.#system = system
    this.#log = log
    this.#keeps = keeps
  }

  /** Adds an entry to the queue, or drops the entry if the queue is full. Never fails. */
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
   * Adds the postings that due effects made to the queue, and ignores all other postings. Must be called after the
   * transaction of the postings was committed. Each posting belongs to the run that created the record for which the
   * money was moved.
   */
  posted(postings: readonly Posted[]): void {
    const { epoch } = this.#store.clock
    for (const posted of postings) {
      if (!posted.byDueEffect || !this.#takesMore()) continue
      this.#duePostings.push({ ...posted, id: this.#nextId(posted.nowMs, epoch), epoch })
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

  /** The number of waiting entries and postings. */
  get #length(): number {
    return this.#waiting.length + this.#duePostings.length
  }

  #writeSoon(): void {
    if (this.#length === maxBatch) void this.flush()
    else this.#writeIn(gatherMs)
  }

  /** Writes the waiting entries. Resolves once they are stored or dropped, or once the database is too busy. */
  flush(): Promise<void> {
    this.#timer?.clear()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeAll())
    return this.#writing
  }

  /** Calls the listener whenever this process has stored entries. Returns a function that removes the listener. */
  follow(listener: RunListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #writeIn(ms: number): void {
    this.#timer ??= deadline(ms, () => void this.flush())
  }

  /** Writes the entries that are waiting now. Later entries may have to wait for the next write. */
  async #writeAll(): Promise<void> {
    for (let left = this.#length; left > 0; ) {
      let isAssigned = false
      try {
        await this.#assignDuePostings()
        isAssigned = true
        await this.#writeNext(Math.min(maxBatch, this.#waiting.length))
      } catch (error) {
        const isAgain = error instanceof StoreBusyError && ++this.#tries < maxTries
        if (isAgain) return this.#writeIn(retryAfterMs)
        if (isAssigned) this.#drop(this.#waiting.slice(0, maxBatch), error)
        else this.#dropDuePostings(error)
      }
      if (isAssigned) left -= maxBatch
      this.#isFull = false
      this.#tries = 0
    }
  }

  /**
   * Writes the next `count` waiting entries together. If the database refuses them, they are written in smaller and
   * smaller parts, so that only the entries that cause the refusal are dropped.
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

  /** Writes entries. Returns the error if the database refuses them. @throws StoreBusyError if the database is busy. */
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

  #dropDuePostings(err: unknown): void {
    const entries = Math.min(this.#duePostings.length, maxBatch)
    this.#log.warn({ err, entries }, 'run entries were lost')
    this.#duePostings = this.#duePostings.slice(entries)
  }

  /** Removes entries from the front of the queue. */
  #release(entries: readonly NotedEntry[]): void {
    this.#waiting = this.#waiting.slice(entries.length)
    this.#characters -= entries.reduce((sum, { row }) => sum + row.detail.length, 0)
  }

  async #assignDuePostings(): Promise<void> {
    const duePostings = this.#duePostings.slice(0, maxBatch)
    if (duePostings.length === 0) return
    const entries: NotedEntry[] = []
    for (const [partyId, postings] of Map.groupBy(duePostings, (one) => one.partyId)) {
      const ids = [...new Set(postings.flatMap(({ sourceId }) => sourceId ?? []))]
      const records = await this.#store.read((tx) => recordsOfRuns(tx, partyId, ids))
      const byId = new Map(records.map((record) => [record.id, record]))
      entries.push(...postings.flatMap((posting) => entryOf(posting, byId.get(posting.sourceId ?? '')) ?? []))
    }
    this.#waiting.push(...entries)
    this.#duePostings = this.#duePostings.slice(duePostings.length)
  }

  /**
   * Returns an entry id that sorts after this process's earlier ids of the same epoch. The id contains the sandbox
   * clock's time and then a counter. The time in the ids goes back only when a new epoch begins.
   */
  #nextId(atMs: number, epoch = this.#last.epoch): string {
    const { ms, count, epoch: before } = this.#last
    // Entries that were added before this process knew any epoch belong to the first epoch that it knows.
    const isNewEpoch = before > 0 && epoch > before
    const next = isNewEpoch || atMs > ms ? { ms: atMs, count: 0 } : { ms, count: count + 1 }
    this.#last = { ...next, epoch: Math.max(epoch, before) }
    const counter = next.count.toString(16).padStart(6, '0')
    this.#tag ??= this.#system.randomBytes(7).toString('hex')
    return `${entryIdFrom(next.ms)}${counter}${this.#tag}`
  }
}

function shownId(instanceId: string | null): string | null {
  return instanceId === null ? null : maskKeptText(instanceId)
}

/** Returns the entry for a posting of a due effect; undefined if no run created the posting's source record. */
function entryOf(
  { partyId, posting, sourceId, nowMs, id, epoch }: DuePosting,
  record?: RecordOfRun,
): NotedEntry | undefined {
  if (record === undefined) return undefined
  const detail: RunDetail = { postings: [{ ...posting, sourceId }], resourceIds: [record.id] }
  const row: NotedEntry['row'] = {
    partyId,
    id,
    runId: runIdOf(partyId, record.instanceId),
    kind: 'happened',
    operation: posting.reason,
    agentId: record.agentId,
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
  return { row, instanceId: shownId(record.instanceId), host: null, epoch, spentCents: spentCents([posting]) }
}
