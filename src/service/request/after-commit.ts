import type { Logger } from '../../config/log.ts'
import type { Failure } from '../../core/errors.ts'
import type { System } from '../../core/system.ts'
import type { ReportedEntry } from '../rules/runs.ts'
import { settleDue } from './due-effects.ts'
import type { Opening } from './failed-effects.ts'
import { isSuccess, type Reply, refusal } from './reply.ts'
import type { WaitingRequests } from './waiting-requests.ts'

/** The work that a handler wants done after its transaction is committed. */
export interface AfterCommit {
  /**
   * Whether the handler moved the clock. If so, the effects that have become due are applied before the request is
   * answered.
   */
  timeMoved: boolean
  /** How a shop delays or replaces the recorded answer; undefined to send the recorded answer without delay. */
  changedAnswer: ChangedAnswer | undefined
  /**
   * Additional entries for the logs of runs. For example, if the request approves a payment, the run that requested the
   * payment gets an entry.
   */
  reportedEntries: ReportedEntry[]
  /**
   * Whether the wallet's balance covers the maximum amount of the card that was issued. Sent only to a client in this
   * process (`ApiAnswer`).
   */
  isCovered: boolean | undefined
}

/** A change to the answer of a shop that is slow, or that fails after charging the card (docs/shops.md#answers). */
export interface ChangedAnswer {
  /** The delay of the answer, in milliseconds by the real clock. */
  delayMs: number
  /**
   * The failure that replaces the recorded answer. A repeat of the request with the same idempotency key gets the
   * recorded answer.
   */
  failure?: Failure | undefined
}

/**
 * Delays the answer, replaces a success with a failure, or does both, as the handler requested. The transaction is
 * already committed, so the delay does not block other requests.
 */
export async function applyChangedAnswer(
  { system, ending }: { system: System; ending: AbortSignal },
  { delayMs, failure }: ChangedAnswer,
  reply: Reply,
  { supportId, gone }: { supportId: string; gone: AbortSignal | undefined },
): Promise<Reply> {
  const over = gone === undefined ? ending : AbortSignal.any([ending, gone])
  if (delayMs > 0) await system.sleep(delayMs, over).catch(() => {})
  return failure === undefined || !isSuccess(reply) ? reply : refusal(failure, supportId)
}

/**
 * Applies the effects that became due because the clock was moved. If they cannot be applied now, for example because
 * the database is busy, the upkeep task or the next request applies them later.
 */
export async function settleAfterwards(
  {
    waits,
    log,
    ...opening
  }: Opening & { waits: Pick<WaitingRequests, 'wakeAll'>; log: Pick<Logger, 'error' | 'info' | 'warn'> },
  supportId: string,
): Promise<void> {
  try {
    await settleDue({ ...opening, log })
  } catch (error) {
    log.warn({ supportId, err: error }, 'the clock was moved, and some due effects are not applied yet')
  }
  waits.wakeAll()
}
