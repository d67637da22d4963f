import type { Logger } from '../../config/log.ts'
import { shortForeignText } from '../../core/foreign-text.ts'
import { maskForeignText } from '../../core/masking.ts'
import { type System, timestamp } from '../../core/system.ts'
import { pauseAfter } from '../rules/failed-effects.ts'
import { type DueOf, nextRecords, readTimes } from '../store/clock.ts'
import { StaleWriteError, type Store, StoreBusyError, type Transaction } from '../store/engine/store.ts'
import { changeDueTime, deleteFailedEffect, findFailedEffect, saveFailedEffect } from '../store/failed-effects.ts'
import { type TimedEffect, timedEffects, withDueEffects } from './timed-effects.ts'

/** The dependencies for opening transactions and for logging failed effects. */
export interface Opening {
  store: Store
  system: System
  /** The log for effects that fail, and for failed effects that later succeed. */
  log?: Pick<Logger, 'error' | 'info'> | undefined
}

/** A due effect: its kind, its record and its time. */
interface DueEffect {
  effect: TimedEffect
  recordId: string
  atMs: number
}

const longestError = 300

/** Returns whether an error comes from the effect itself, and not from a busy database or a conflicting write. */
export function isEffectError(error: unknown): boolean {
  return !(error instanceof StoreBusyError || error instanceof StaleWriteError)
}

/**
 * Applies at most `limit` due effects of a party, each in its own transaction. An effect that fails is postponed and
 * tried again later, so that nothing else waits for it (docs/time.md#effects-that-fail).
 */
export async function settleSingly(opening: Opening, due: DueOf): Promise<void> {
  const { store, system, log } = opening
  const { partyId } = due
  for (let count = 0; count < due.limit; count++) {
    const first = await store.read((tx) => firstDue(tx, due))
    if (first === undefined) return
    const fields = { partyId, kind: first.effect.kind, recordId: first.recordId }
    try {
      const attempts = await store.transaction((tx) => applyOne(tx, system, due, first), { partyId })
      if (attempts > 0) log?.info({ ...fields, attempts }, 'a due effect that had failed before was applied')
    } catch (error) {
      if (!isEffectError(error)) throw error
      const aside = await store.transaction((tx) => postpone(tx, due, first, error), { partyId })
      if (aside !== undefined) log?.error({ err: error, ...fields, ...aside }, 'a due effect failed and is set aside')
    }
  }
}

async function firstDue(tx: Transaction, { partyId, nowMs }: DueOf): Promise<DueEffect | undefined> {
  for (const effect of timedEffects) {
    const [next] = (await nextRecords(tx.db, [effect], { partyId, limit: 1 }).execute(tx.db)).rows
    if (next !== undefined && next.atMs <= nowMs) return { effect, recordId: next.id, atMs: next.atMs }
  }
  return undefined
}

/** Returns whether the effect is still the party's first due effect. The caller has locked the party. */
async function isStillDue(tx: Transaction, due: DueOf, { effect, recordId, atMs }: DueEffect): Promise<boolean> {
  const first = await firstDue(tx, due)
  return first?.effect === effect && first.recordId === recordId && first.atMs === atMs
}

/** Applies one effect if it is still due. Returns how many times the effect had failed before. */
async function applyOne(tx: Transaction, system: System, due: DueOf, first: DueEffect): Promise<number> {
  const { partyId, nowMs } = due
  const { effect, recordId, atMs } = first
  await tx.lockParty(partyId)
  if ((await readTimes(tx)).nowMs < nowMs || !(await isStillDue(tx, due, first))) return 0
  const failed = await findFailedEffect(tx, { partyId, kind: effect.kind, recordId })
  const isRetry = failed?.retryAtMs === atMs
  // The effect is applied as of its original time, not as of the time of the retry.
  if (isRetry) await changeDueTime(tx, effect.dueColumn, { partyId, recordId, fromMs: atMs, toMs: failed.dueAtMs })
  const before = isRetry ? { ...first, atMs: failed.dueAtMs } : first
  const count = await withDueEffects(tx, partyId, () => effect.apply(tx, system, { partyId, nowMs, limit: 1 }))
  if (count === 0 && (await isStillDue(tx, due, before)))
    throw new Error(`Bug: ${recordId} has a due effect, but applying it changed nothing.`)
  if (failed === undefined) return 0
  await deleteFailedEffect(tx, failed)
  return isRetry ? failed.attempts : 0
}

/**
 * Postpones a failed effect. Returns how many times the effect has been tried, and when it is tried next. Returns
 * undefined if the effect is no longer due, for example because another process has applied or postponed it.
 */
async function postpone(tx: Transaction, due: DueOf, first: DueEffect, error: unknown) {
  const { partyId } = due
  const { effect, recordId, atMs } = first
  await tx.lockParty(partyId)
  const { nowMs } = await readTimes(tx)
  if (nowMs < due.nowMs || !(await isStillDue(tx, due, first))) return undefined
  const earlier = await findFailedEffect(tx, { partyId, kind: effect.kind, recordId })
  const { attempts, dueAtMs } = earlier?.retryAtMs === atMs ? earlier : { attempts: 0, dueAtMs: atMs }
  const retryAtMs = nowMs + pauseAfter(attempts + 1)
  const text = shortForeignText(maskForeignText(String(error)), longestError)
  await changeDueTime(tx, effect.dueColumn, { partyId, recordId, fromMs: atMs, toMs: retryAtMs })
  await saveFailedEffect(tx, {
    partyId,
    kind: effect.kind,
    recordId,
    attempts: attempts + 1,
    error: text,
    dueAtMs,
    retryAtMs,
  })
  return { attempts: attempts + 1, retryAt: timestamp(retryAtMs) }
}
