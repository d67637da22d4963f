import type { System } from '../../core/system.ts'
import type { Store } from '../store/engine/store.ts'
import { type Act, recordAct } from './activity.ts'
import { type SettledContext, settledTimes } from './due.ts'

/** What opens a transaction. */
export interface Dependencies {
  store: Store
  system: System
}

/** What was answered, and what to list of it: one act for each change, none where nothing was changed. */
export interface Changed<Result> {
  result: Result
  acts: readonly Act[]
}

/** What was answered where nothing was changed. */
export function unchanged<Result>(result: Result): Changed<Result> {
  return { result, acts: [] }
}

/**
 * The one way in for what people change by no operation: pay, consent, sign in, connect. All of it is one transaction,
 * which ends with the records of who did it, so that none of it goes unlisted.
 */
export function change<Result>(
  dependencies: Dependencies,
  work: (context: SettledContext) => Promise<Changed<Result>>,
): Promise<Result> {
  return settled(dependencies, async (context) => {
    const { result, acts } = await work(context)
    for (const act of acts) await recordAct(context, act)
    return result
  })
}

/**
 * A transaction at a moment of which everything due has happened: for who looks, and for what belongs to no party, such as
 * the records of the authorization server.
 */
export function settled<Result>(
  { store, system }: Dependencies,
  work: (context: SettledContext) => Promise<Result>,
): Promise<Result> {
  return store.transaction(async (tx) => work({ tx, system, ...(await settledTimes(tx, system)) }))
}
