import { lineOf } from './postgres-locks.ts'
import type { Transaction, TransactionOptions } from './store.ts'

/** A requested transaction that is waiting or running. */
export interface Job {
  readonly work: (tx: Transaction) => Promise<unknown>
  readonly kind: string | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly waitingSinceMs: number
  /**
   * The line that this job waits in, named by the lock that it takes first (`postgres-locks.ts`). Jobs in the same line
   * run in sequence.
   */
  line: string | undefined
  /** Whether it needs a database transaction that it shares with no other job. */
  isAlone: boolean
  /** Whether it excludes all other transactions in all processes. */
  readonly isExclusive: boolean
  /**
   * Whether it must wait for the lock of its line in the database, because another process holds the lock. All jobs in
   * the line then wait together.
   */
  mustWait: boolean
  attempts: number
  /** How many times it was moved to another line or to a separate transaction. */
  moves: number
  /** A lock name for each row whose StaleWriteError made the job fail. The job takes these locks before it retries. */
  readonly contended: Set<string>
  /** The names that it has claimed. No other job of this process can claim them until it ends. */
  readonly claims: Set<string>
}

/** Makes a job. Properties that become known only while it runs start with their most common values. */
export function newJob<T>(
  work: (tx: Transaction) => Promise<T>,
  { partyId, kind, alone = false }: TransactionOptions,
  waiter: { resolve: (value: T) => void; reject: (error: unknown) => void; waitingSinceMs: number },
): Job {
  return {
    ...waiter,
    work,
    kind,
    isExclusive: alone,
    resolve: waiter.resolve as Job['resolve'],
    line: partyId === undefined ? undefined : lineOf(partyId),
    isAlone: alone || kind === undefined,
    mustWait: false,
    attempts: 0,
    moves: 0,
    contended: new Set(),
    claims: new Set(),
  }
}

/** Jobs that share one database transaction, grouped by line, in order within each line. */
export type Group = readonly (readonly [Job, ...Job[]])[]

/**
 * The maximum number of jobs in a group. It limits how many jobs fail together, and how long the first job waits for
 * the last one.
 */
const maxPerGroup = 64
/**
 * The maximum number of jobs of one line in a group with other lines, so that the other lines do not have to wait long
 * for these jobs.
 */
const maxPerSharedLine = 8
const maxPerLine = 32

/**
 * The jobs that wait for a database transaction. Jobs of one line run in the order in which they arrived. The lines
 * take turns, so a long line does not delay the others.
 */
export class Queue {
  /** The jobs of each line. The line that was served longest ago comes first. */
  readonly #lines = new Map<string, Job[]>()
  /** The lines with running jobs. */
  readonly #busy = new Set<string>()
  /** Jobs without a line. Each of them may run concurrently with all others. */
  #loose: Job[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  add(job: Job): void {
    this.#length += 1
    if (job.line === undefined) this.#loose.push(job)
    else this.#jobsOf(job.line).push(job)
  }

  /** Removes and returns jobs that can share a transaction. Their lines stay busy until `free` is called. */
  takeGroup(): Group {
    const group: [Job, ...Job[]][] = []
    let room = maxPerGroup
    const loose = this.#loose.filter(({ isAlone }) => !isAlone).slice(0, room)
    if (loose.length > 0) {
      this.#loose = this.#loose.filter((job) => !loose.includes(job))
      for (const job of loose) group.push([job])
      room -= loose.length
    }
    const lines = [...this.#lines].filter(([line, [first]]) => !this.#busy.has(line) && first?.isAlone === false)
    const maxJobs = lines.length + loose.length > 1 ? maxPerSharedLine : maxPerLine
    for (const [line, jobs] of lines) {
      if (room === 0) break
      const mustWait = jobs.some((job) => job.mustWait)
      if (mustWait && group.length > 0) continue
      const end = jobs.findIndex(({ isAlone }) => isAlone)
      const [first, ...rest] = jobs.splice(0, Math.min(maxJobs, room, end < 0 ? jobs.length : end))
      if (first === undefined) continue
      group.push([first, ...rest])
      room -= 1 + rest.length
      this.#occupyLine(line, jobs)
      if (mustWait) break
    }
    this.#length -= maxPerGroup - room
    return group
  }

  /** Removes and returns a job that needs a separate transaction. Its line stays busy until `free` is called. */
  takeAlone(): Job | undefined {
    const at = this.#loose.findIndex(({ isAlone }) => isAlone)
    let job = at < 0 ? undefined : this.#loose.splice(at, 1)[0]
    if (job === undefined) {
      const found = this.#lines.entries().find(([line, [first]]) => !this.#busy.has(line) && first?.isAlone === true)
      if (found === undefined) return undefined
      const [line, jobs] = found
      job = jobs.shift()
      this.#occupyLine(line, jobs)
    }
    this.#length -= 1
    return job
  }

  /** Makes a line available again. */
  free(line: string | undefined): void {
    if (line !== undefined) this.#busy.delete(line)
  }

  /** Removes and returns the jobs for which `matches` returns true. */
  removeWhere(matches: (job: Job) => boolean): Job[] {
    const removed = [...this.#loose, ...[...this.#lines.values()].flat()].filter(matches)
    this.#loose = this.#loose.filter((job) => !matches(job))
    for (const [line, jobs] of this.#lines) {
      const left = jobs.filter((job) => !matches(job))
      if (left.length === 0) this.#lines.delete(line)
      else this.#lines.set(line, left)
    }
    this.#length -= removed.length
    return removed
  }

  #occupyLine(line: string, left: Job[]): void {
    this.#busy.add(line)
    this.#lines.delete(line)
    if (left.length > 0) this.#lines.set(line, left)
  }

  #jobsOf(line: string): Job[] {
    const jobs = this.#lines.get(line) ?? []
    this.#lines.set(line, jobs)
    return jobs
  }
}
