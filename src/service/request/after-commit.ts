import type { Logger } from '../../config/log.ts'
import type { Failure } from '../../core/errors.ts'
import type { System } from '../../core/system.ts'
import type { ReportedEntry } from '../rules/runs.ts'
import { settleDue } from './due-effects.ts'
import type { Opening } from './failed-effects.ts'
import { isSuccess, type Reply, refusal } from './reply.ts'
import type { WaitingRequests } from './waiting-requests.ts'

/** The work that a handler requests after its transaction is committed. */
export interface AfterCommit {
  /** Whether the clock was moved. The request is then answered once the effects that became due are applied. */
  timeMoved: boolean
  /** The late or failed answer of a shop; undefined for the recorded answer, at once. */
  otherAnswer: OtherAnswer | undefined
  /** Entries for other runs than the request's. */
  reportedEntries: ReportedEntry[]
  /** Whether the wallet covers the issued card, for a client in this process (`ApiAnswer`). */
  isCovered: boolean | undefined
}

/** The answer of a shop that is slow, or that fails after charging the card (docs/shops.md#answers). */
export interface OtherAnswer {
  /** Milliseconds of real time that the answer takes. */
  afterMs: number
  /** The failure to answer with instead; a repeat under the same key gets the recorded answer. */
  instead?: Failure | undefined
}

/**
 * Answers late, or with a failure, if the handler asks for that: the change is committed, and no other request waits.
 */
export async function applyOtherAnswer(
  { system, ending }: { system: System; ending: AbortSignal },
  { afterMs, instead }: OtherAnswer,
  reply: Reply,
  { supportId, gone }: { supportId: string; gone: AbortSignal | undefined },
): Promise<Reply> {
  const over = gone === undefined ? ending : AbortSignal.any([ending, gone])
  if (afterMs > 0) await system.sleep(afterMs, over).catch(() => {})
  return instead === undefined || !isSuccess(reply) ? reply : refusal(instead, supportId)
}

/** Applies what became due by moving the clock. While the database is busy, the upkeep or the next request does it. */
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
