import { nextTurn, type System } from '../../core/system.ts'
import type { TimedKind } from '../rules/failed-effects.ts'
import {
  type DueOf,
  type FaultCounts,
  nextMoment,
  nextRecords,
  partiesWithDueEffects,
  readTimes,
  type Times,
  type TimesAndNext,
  timesAndNext,
} from '../store/clock.ts'
import { timesAndRows } from '../store/command-rows.ts'
import { prepared } from '../store/engine/prepared.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { isRetryDue } from '../store/failed-effects.ts'
import { isEffectError, type Opening, settleSingly } from './failed-effects.ts'
import { timedEffects, withDueEffects } from './timed-effects.ts'

/**
 * The maximum number of due effects in one batch. Applying a full batch blocks the event loop for a few milliseconds.
 */
const maxBatchSize = 32
/**
 * The maximum number of batches in one call of `settleDue`. The next call or the upkeep applies the remaining effects.
 */
const maxBatches = 1_000_000
/**
 * The number of attempts at a request that leave its due effects to other transactions. Later attempts apply these
 * effects in the request's own transaction.
 */
const triesOutside = 2

/** The context of a change: its transaction, and the service's time in this transaction. */
export interface ChangeContext {
  tx: Transaction
  system: System
  nowMs: number
}

/** The context of a change that is made after all due effects have been applied. It includes all clock readings. */
export interface SettledContext extends ChangeContext, Times {}

const allMoments = timedEffects.map(({ moments }) => moments)
const readTimesAndNext = timesAndNext(allMoments)

/** The time of a request, and whether any party has effects that are due at that time. */
export interface Moment {
  times: Times
  isAnythingDue: boolean
  faults: FaultCounts
}

/** Reads the time, the time of the next timed effect, and the fault counts in one query. */
export async function readMoment(tx: Transaction): Promise<Moment> {
  return momentOf(await readTimesAndNext(tx))
}

/** Builds a `Moment` from the result of a query. */
export function momentOf({ times, nextAtMs, faults }: TimesAndNext): Moment {
  return { times, faults, isAnythingDue: nextAtMs !== null && nextAtMs <= times.nowMs }
}

/** Reads the time and a command's rows in one statement. */
export const readTimesAndRows = timesAndRows(allMoments)

/** Returns the time of the next timed event among all parties; null if there is none. */
export async function nextDueMs(store: Store): Promise<number | null> {
  return (await store.read(readTimesAndNext)).nextAtMs
}

/** A timed event that has not happened yet: its kind, the id of its record, and its time. */
export interface NextEvent {
  kind: TimedKind
  id: string
  atMs: number
}

/** Returns a party's next timed events, soonest first, up to `limit`. */
export async function nextEvents(store: Store, partyId: string, limit: number): Promise<NextEvent[]> {
  return store.read(async ({ db }) => (await nextRecords(db, timedEffects, { partyId, limit }).execute(db)).rows)
}

/** The error that interrupts a request if a party's due effects must first be applied in separate transactions. */
class DueError extends Error {
  readonly partyId: string
  /** The time of the request. Effects that become due after this time need not be applied before the request. */
  readonly untilMs: number
  constructor(partyId: string, untilMs: number, cause?: unknown) {
    super(`The party ${partyId} has due effects.`, { cause })
    this.partyId = partyId
    this.untilMs = untilMs
  }
}

/** How due effects are applied before a request. */
export interface Settling {
  /**
   * Whether the request applies due effects in its own transaction, if they are fewer than `maxBatchSize` per party.
   */
  inOwnTransaction: boolean
}

/**
 * Ensures that all due effects of these parties are applied before the request continues. So each request sees the
 * state as of its own time, even after the clock was moved. No request waits for other parties' effects.
 * @throws DueError if effects must first be applied in other transactions. `whenSettled` catches the error, applies the
 * effects and runs the request again.
 */
export async function requireSettled(
  tx: Transaction,
  system: System,
  moment: Moment,
  partyIds: readonly string[],
  { inOwnTransaction }: Settling,
): Promise<void> {
  if (!moment.isAnythingDue) return
  const { nowMs } = moment.times
  for (const partyId of new Set(partyIds)) {
    const nextAtMs = (await nextOfParty(tx, { partyId })).rows[0]?.nextAtMs ?? null
    if (nextAtMs === null || nextAtMs > nowMs) continue
    const due = { partyId, nowMs, limit: maxBatchSize }
    if (!inOwnTransaction) throw new DueError(partyId, nowMs)
    await settleHere(tx, system, due)
  }
}

const nextOfParty = prepared((db, { partyId }: { partyId: string }) =>
  db.selectNoFrom(nextMoment(db, allMoments, partyId).as('nextAtMs')),
)

/**
 * Runs `work`, which calls `requireSettled`. Each time `requireSettled` throws a `DueError`, applies the due effects
 * and runs `work` again.
 */
export async function whenSettled<Result>(
  opening: Opening,
  work: (settling: Settling) => Promise<Result>,
): Promise<Result> {
  let failures = 0
  for (let attempt = 1; ; attempt++) {
    try {
      return await work({ inOwnTransaction: attempt > triesOutside })
    } catch (error) {
      if (!(error instanceof DueError)) throw error
      // The `DueError` has a cause only if an effect failed in the request's own transaction.
      if (error.cause !== undefined && ++failures > triesOutside) throw error.cause
      await settleDue(opening, error)
    }
  }
}

interface Selection {
  partyId?: string
  /** Only effects that are due by this time are applied. Default: now. */
  untilMs?: number
  /** Called before each batch. If it returns false, no further batch is applied. */
  continues?: () => boolean
}

/**
 * Applies all due effects of one party or of all parties. It works in batches. Between two batches, requests can use
 * the database and the process. If several processes do this at the same time, each effect is still applied only once.
 */
export async function settleDue(opening: Opening, selection: Selection = {}): Promise<void> {
  const { partyId, continues = () => true } = selection
  const untilMs = selection.untilMs ?? (await opening.store.read(readTimes)).nowMs
  for (let count = 0; count < maxBatches && continues(); count++) {
    if ((await opening.store.settling.take(() => settleBatch(opening, untilMs, partyId))) === 0) return
    await nextTurn()
  }
}

/**
 * Applies the next batch of due effects, in one transaction for each party. Returns how many records with due effects
 * it found; 0 if the clock was set back meanwhile.
 */
async function settleBatch(opening: Opening, untilMs: number, partyId?: string): Promise<number> {
  const due = { nowMs: untilMs, limit: maxBatchSize, ...(partyId === undefined ? {} : { partyId }) }
  const { rows } = await opening.store.read((tx) => partiesWithDueEffects(tx.db, allMoments, due).execute(tx.db))
  const shares = [...Map.groupBy(rows, (row) => row.partyId)]
  const ends = await Promise.allSettled(
    shares.map(([owner, { length }]) => {
      // Each party gets its share of the batch. The share may be larger than the number of the party's rows, because
      // one record, such as a weekly subscription, may have many due effects.
      const limit = Math.floor((maxBatchSize * length) / rows.length)
      return settleShare(opening, { partyId: owner, nowMs: untilMs, limit })
    }),
  )
  // An error is thrown only now, so that a failure for one party does not stop the others.
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return ends.some((end) => end.status === 'fulfilled' && !end.value) ? 0 : rows.length
}

/**
 * Applies due effects of a party in one transaction. If that fails or applies nothing, or if a failed effect is to be
 * tried again, applies the effects one by one. Returns false if the clock was set back, so that nothing is due.
 */
async function settleShare(opening: Opening, due: DueOf): Promise<boolean> {
  const { store, system } = opening
  const settle = async (tx: Transaction) => {
    // If a reset has meanwhile set the sandbox clock back, nothing is due.
    if ((await readTimes(tx)).nowMs < due.nowMs) return 'too early'
    return (await isRetryDue(tx, due)) || (await settleSome(tx, system, due)) === 0 ? 'singly' : 'settled'
  }
  try {
    const end = await store.transaction(settle, { partyId: due.partyId })
    if (end !== 'singly') return end === 'settled'
  } catch (error) {
    if (!isEffectError(error)) throw error
  }
  await settleSingly(opening, due)
  return true
}

/** Applies due effects of a party, up to the limit. Returns how many it applied. */
async function settleSome(tx: Transaction, system: System, { partyId, nowMs, limit }: DueOf): Promise<number> {
  await tx.lockParty(partyId)
  return withDueEffects(tx, partyId, async () => {
    let count = 0
    for (const { apply } of timedEffects) {
      if (count < limit) count += await apply(tx, system, { partyId, nowMs, limit: limit - count })
    }
    return count
  })
}

/**
 * Applies a party's due effects in a request's transaction. @throws DueError if they must be applied in other
 * transactions.
 */
async function settleHere(tx: Transaction, system: System, due: DueOf): Promise<void> {
  const { partyId, nowMs } = due
  if (await isRetryDue(tx, due)) throw new DueError(partyId, nowMs)
  let count: number
  try {
    count = await settleSome(tx, system, due)
  } catch (error) {
    if (!isEffectError(error)) throw error
    throw new DueError(partyId, nowMs, error)
  }
  if (count === due.limit) throw new DueError(partyId, nowMs)
}
