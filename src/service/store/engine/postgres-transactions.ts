import { deadline, nextTurn, type System } from '../../../core/system.ts'
import { asBusy, type ConnectionPool } from './postgres-connections.ts'
import { lineOf, lockLines, lockName, lockTogether } from './postgres-locks.ts'
import { type Group, type Job, newJob, Queue } from './postgres-queue.ts'
import { backoffMs, isRetryable, maxMoves, type Outcome, RunAgainError } from './postgres-retries.ts'
import { Session } from './postgres-session.ts'
import { PostgresTransaction, type TransactionDependencies } from './postgres-transaction.ts'
import { StaleWriteError, StoreBusyError, type Transaction, type TransactionOptions } from './store.ts'

interface Options {
  pool: ConnectionPool
  /** The maximum numbers of concurrent transactions: of those that jobs share, and of those that run a single job. */
  maxConcurrent: { shared: number; alone: number }
  /** Returns the statements that begin a transaction. If `alone` is true, the transaction excludes all others. */
  begin(alone: boolean): string
  system: System
  dependencies: TransactionDependencies
}

const maxWaiting = 10_000
/**
 * The longest time that a job waits in the queue. A request may take ten seconds: five in the queue, and five in the
 * transaction.
 */
const longestWaitMs = 5_000
const sweepIntervalMs = 500
const attemptLimit = 20
/** A job runs alone after this many failures in shared transactions. */
const maxSharedAttempts = 2

/**
 * Runs jobs in transactions on the connections of a pool. Jobs that write only after their last read share a
 * transaction, because each commit waits for the disk. Jobs with the same `line` run in sequence. A job in the queue
 * holds no connection.
 */
export class Transactions {
  readonly #options: Options
  readonly #queue = new Queue()
  readonly #claimed = new Set<string>()
  /** The kinds of jobs that turned out to need a separate database transaction. */
  readonly #aloneKinds = new Set<string>()
  readonly #running = { shared: 0, alone: 0 }
  readonly #whenIdle: (() => void)[] = []
  #begun = 0
  #retries = 0
  #isPumping = false
  #sweep: ReturnType<typeof deadline> | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns the current load, and the totals since the start. */
  get load() {
    const { shared, alone } = this.#running
    return { waiting: this.#queue.length, running: shared + alone, begun: this.#begun, retries: this.#retries }
  }

  run<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    if (this.#queue.length >= maxWaiting) return Promise.reject(new StoreBusyError('Too many transactions.'))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const { kind, claim } = options
    const job = newJob(work, options, { resolve, reject, waitingSinceMs: this.#options.system.elapsed() })
    job.isAlone ||= kind !== undefined && this.#aloneKinds.has(kind)
    if (claim !== undefined && !this.#claim(job, claim)) job.line = undefined
    this.#enter(job)
    return promise
  }

  /** Resolves when no job waits or runs. */
  async idle(): Promise<void> {
    const { waiting, running } = this.load
    if (waiting + running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  #enter(job: Job): void {
    this.#queue.add(job)
    this.#pump()
    this.#sweep ??= deadline(sweepIntervalMs, () => this.#refuseLate())
  }

  #refuseLate(): void {
    this.#sweep = undefined
    const late = this.#queue.removeWhere(
      ({ waitingSinceMs }) => this.#options.system.elapsed() - waitingSinceMs > longestWaitMs,
    )
    for (const job of late) this.#settle(job, () => job.reject(new StoreBusyError('Waited too long in the queue.')))
    if (this.#queue.length > 0) this.#sweep = deadline(sweepIntervalMs, () => this.#refuseLate())
  }

  /** Starts jobs in the next turn of the event loop, so that jobs that arrive together share a transaction. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    void nextTurn().then(() => {
      this.#isPumping = false
      const { maxConcurrent } = this.#options
      while (this.#running.alone < maxConcurrent.alone) {
        const job = this.#queue.takeAlone()
        if (job === undefined) break
        void this.#track('alone', [job.line], () => this.#runAlone(job))
      }
      while (this.#running.shared < maxConcurrent.shared) {
        const group = this.#queue.takeGroup()
        if (group.length === 0) break
        const lines = group.map(([{ line }]) => line)
        void this.#track('shared', lines, () => this.#runGroup(group))
      }
    })
  }

  async #track(
    type: 'shared' | 'alone',
    lines: readonly (string | undefined)[],
    run: () => Promise<void>,
  ): Promise<void> {
    this.#running[type] += 1
    try {
      await run()
    } finally {
      this.#running[type] -= 1
      for (const line of lines) this.#queue.free(line)
    }
    const { waiting, running } = this.load
    if (waiting > 0) this.#pump()
    else if (running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  /** Begins a transaction. If this fails, rejects `jobs` and all queued jobs, and returns undefined. */
  async #begin(jobs: readonly Job[]): Promise<Session | undefined> {
    const { pool, begin } = this.#options
    const sql = begin(jobs.some(({ isExclusive }) => isExclusive))
    try {
      const session = new Session(await pool.connect(), pool.prepares)
      session.send({ sql, parameters: [] }, this)
      this.#begun += 1
      return session
    } catch (error) {
      const reason = asBusy(error) ?? error
      for (const job of [...jobs, ...this.#queue.removeWhere(() => true)]) this.#settle(job, () => job.reject(reason))
      return undefined
    }
  }

  async #runGroup(group: Group): Promise<void> {
    const session = await this.#begin(group.flat())
    if (session === undefined) return
    const lines = group.flatMap(([{ line }]) => line ?? [])
    const locked = lockTogether(session, lines, group[0]?.some(({ mustWait }) => mustWait) === true, this)
    locked.catch(() => {})
    const sharedReads = new Map<unknown, Promise<unknown>>()
    const oneAfterAnother = async (jobs: readonly Job[]) => {
      const outcomes: Outcome[] = []
      for (const job of jobs) outcomes.push(await this.#runShared(job, session, locked, sharedReads))
      return outcomes
    }
    const outcomes = (await Promise.all(group.map(oneAfterAnother))).flat()
    if (!(await session.commit())) return this.#undo(outcomes, session)
    for (const { job, settle } of outcomes) {
      if (settle === undefined) this.#enter(job)
      else this.#settle(job, settle)
    }
  }

  async #runShared(
    job: Job,
    session: Session,
    locked: Promise<ReadonlySet<string>>,
    sharedReads: Map<unknown, Promise<unknown>>,
  ): Promise<Outcome> {
    const refuse = () => {
      if (job.kind !== undefined) this.#aloneKinds.add(job.kind)
      throw new RunAgainError({ isAlone: true })
    }
    const tx: PostgresTransaction = new PostgresTransaction(this.#options.dependencies, session, {
      mayWriteEarly: refuse,
      runAlone: refuse,
      lock: async () => refuse(),
      lockParty: async (partyId) => {
        const line = lineOf(partyId)
        if (job.line !== line) throw new RunAgainError({ line })
        // Another process has the lock. The job waits in a later transaction, so that the other jobs here can go on.
        if (!(await locked).has(line)) throw new RunAgainError({ line, mustWait: true })
      },
      claim: (name) => this.#claim(job, name),
      shared: (read) => {
        const reading = sharedReads.get(read) ?? read(tx)
        sharedReads.set(read, reading)
        return reading as ReturnType<typeof read>
      },
    })
    try {
      const value = await job.work(tx)
      await tx.finish()
      return { job, tx, settle: () => job.resolve(value) }
    } catch (error) {
      if (!(error instanceof RunAgainError)) return { job, tx, settle: () => job.reject(error) }
      return { job, tx, settle: this.#move(job, error) }
    }
  }

  /**
   * Handles a failed group. The job that caused the failure is rejected or runs again alone. The other jobs run again:
   * together, or alone if they have failed too often. If the database was busy, all jobs are rejected.
   */
  #undo(outcomes: readonly Outcome[], { failure }: Session): void {
    const busy = asBusy(failure?.error)
    for (const { job, tx } of outcomes) {
      const isCause = failure?.by === tx
      const reason = busy ?? (isCause ? this.#verdict(job, failure.error) : undefined)
      if (reason !== undefined) this.#settle(job, () => job.reject(reason))
      else {
        job.isAlone ||= isCause || ++job.attempts >= maxSharedAttempts
        this.#enter(job)
      }
    }
  }

  async #runAlone(job: Job): Promise<void> {
    for (;;) {
      const session = await this.#begin([job])
      if (session === undefined) return
      const { thrown, value } = await this.#attempt(job, session)
      if (thrown === undefined) return this.#settle(job, () => job.resolve(value))
      if (thrown.error instanceof RunAgainError) {
        const settle = this.#move(job, thrown.error)
        return settle === undefined ? this.#enter(job) : this.#settle(job, settle)
      }
      const { size } = job.contended
      const reason = this.#verdict(job, thrown.error)
      if (reason !== undefined) return this.#settle(job, () => job.reject(reason))
      if (job.contended.size === size) await this.#options.system.sleep(backoffMs(this.#options.system, job.attempts))
    }
  }

  /** Runs a job once in a separate transaction, and commits or rolls back. */
  async #attempt(job: Job, session: Session): Promise<{ thrown?: { error: unknown }; value?: unknown }> {
    const tx: PostgresTransaction = new PostgresTransaction(this.#options.dependencies, session, {
      mayWriteEarly: () => {},
      runAlone: () => {},
      lock: (name) => lockName(session, name, this),
      lockParty: async (partyId) => {
        const line = lineOf(partyId)
        if (job.line !== line && !job.isExclusive) throw new RunAgainError({ line })
      },
      claim: (name) => this.#claim(job, name),
      shared: (read) => read(tx),
    })
    lockLines(session, new Set([...(job.line === undefined ? [] : [job.line]), ...job.contended]), this)
    try {
      const value = await job.work(tx)
      await tx.finish()
      if (await session.commit()) return { value }
      return { thrown: { error: session.failure?.error } }
    } catch (error) {
      await session.rollback()
      return { thrown: { error } }
    }
  }

  /**
   * Changes the job so that it runs again as the RunAgainError demands, and returns undefined. If the job has been
   * moved too often, returns a function that rejects the job.
   */
  #move(job: Job, { line, isAlone, mustWait }: RunAgainError): (() => void) | undefined {
    this.#retries += 1
    if (!mustWait) job.moves += 1
    job.line = line ?? job.line
    job.isAlone ||= isAlone
    job.mustWait = mustWait
    return job.moves > maxMoves ? () => job.reject(new Error('Bug: a transaction locks two parties.')) : undefined
  }

  /** Returns the error to reject a job with after a failed attempt; undefined if the job may run again. */
  #verdict(job: Job, error: unknown): unknown {
    if (!isRetryable(error)) return asBusy(error) ?? error
    job.attempts += 1
    if (job.attempts >= attemptLimit) {
      return new StoreBusyError(`Gave up after ${attemptLimit} attempts because of conflicts.`, { cause: error })
    }
    this.#retries += 1
    if (error instanceof StaleWriteError) job.contended.add(`stale ${error.rowLabel}`)
    return undefined
  }

  #claim(job: Job, name: string): boolean {
    if (job.claims.has(name)) return true
    if (this.#claimed.has(name)) return false
    this.#claimed.add(name)
    job.claims.add(name)
    return true
  }

  /** Releases the claims of a job, then calls `answer`, which resolves or rejects the job's promise. */
  #settle(job: Job, answer: () => void): void {
    for (const name of job.claims) this.#claimed.delete(name)
    answer()
  }
}
