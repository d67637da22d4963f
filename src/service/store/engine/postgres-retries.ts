import type { System } from '../../../core/system.ts'
import { isOutdatedStatement } from './postgres-connections.ts'
import type { Job } from './postgres-queue.ts'
import type { PostgresTransaction } from './postgres-transaction.ts'
import { StaleWriteError } from './store.ts'

/**
 * The maximum number of times that a job may be moved. A job that locks only one party needs two moves at most: one to
 * the party's line, and one to a separate transaction.
 */
export const maxMoves = 4

/**
 * Thrown to end a job's current attempt. The job then runs again: in a different line, in a separate transaction, or in
 * a transaction that waits for the line's lock.
 */
export class RunAgainError extends Error {
  readonly line: string | undefined
  readonly isAlone: boolean
  readonly mustWait: boolean

  constructor({ line, isAlone = false, mustWait = false }: { line?: string; isAlone?: boolean; mustWait?: boolean }) {
    super('Bug: a transaction was not run again.')
    this.line = line
    this.isAlone = isAlone
    this.mustWait = mustWait
  }
}

/** Returns a random delay before the next attempt. Its upper limit doubles with each attempt, up to 64 ms. */
export function backoffMs(system: Pick<System, 'randomBytes'>, attempt: number): number {
  const [random = 0] = system.randomBytes(1)
  return Math.ceil((2 ** Math.min(attempt, 6) * (random + 1)) / 256)
}

/** serialization_failure and deadlock_detected: the database aborted this transaction in favor of another one. */
const abortedCodes: ReadonlySet<string> = new Set(['40001', '40P01'])

/** Returns whether a transaction failed only because of another transaction, so that a retry may succeed. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof StaleWriteError) return true
  if (!(error instanceof Error) || !('code' in error)) return false
  // This error means that another request with the same idempotency key was committed first. The retry finds that
  // request's record.
  const lostKey = error.code === '23505' && 'table' in error && error.table === 'idempotencyRecords'
  return lostKey || isOutdatedStatement(error) || abortedCodes.has(String(error.code))
}

/** The outcome of a job whose database transaction has not been committed yet. */
export interface Outcome {
  job: Job
  tx: PostgresTransaction
  /** Resolves or rejects the caller's promise. To be called after the commit; undefined if the job must run again. */
  settle: (() => void) | undefined
}
