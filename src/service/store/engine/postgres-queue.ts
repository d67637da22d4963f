import { lineOf } from './postgres-locks.ts'
import type { Transaction, TransactionOptions } from './store.ts'

/** A requested transaction that is waiting or running. Several jobs may share one database transaction. */
export interface Job {
  readonly work: (tx: Transaction) => Promise<unknown>
  readonly kind: string | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly waitingSinceMs: number
  /**
   * The name of the line that this job waits in. It is also the name of the lock that the job takes first
   * (`postgres-locks.ts`). Jobs in the same line run in sequence.
   */
  line: string | undefined
  /** Whether the job needs a database transaction that it shares with no other job. */
  isAlone: boolean
  /** Whether no other transaction of any process may run at the same time as this job. */
  readonly isExclusive: boolean
  /**
   * Whether the job's transaction must wait for the lock of the job's line, because another process holds the lock. The
   * jobs of this line then share the transaction only with each other.
   */
  mustWait: boolean
  attempts: number
  /** How many times the job was moved to another line or to a separate transaction. */
  moves: number
  /**
   * For each row that caused a StaleWriteError in this job, the name of a lock. The job takes these locks before it
   * runs again.
   */
  readonly contended: Set<string>
  /** The names that the job has claimed. No other job of this process can claim them until this job ends. */
  readonly claims: Set<string>
}

/** Makes a job. Properties that become known only while the job runs start with their most common values. */
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

/**
 * Jobs that share one database transaction. Each inner array contains jobs of one line in order, or a single job
 * without a line.
 */
export type Group = readonly (readonly [Job, ...Job[]])[]

/**
 * The maximum number of jobs in a group. It limits how many jobs fail together, and how long the first job waits for
 * the last one.
 */
const maxPerGroup = 64
/**
 * The maximum number of jobs that a line may have in a group with other lines. It limits how long the other lines wait
 * for this line.
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
  /** Jobs without a line. Each of them may run concurrently with all other jobs. */
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

  /**
   * Removes and returns jobs that can share a transaction. Each of their lines stays busy until it is passed to `free`.
   */
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

  /** Removes and returns a job that needs a separate transaction. Its line stays busy until it is passed to `free`. */
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
