import { runAndSaveEarlierRows } from '../store/earlier-states.ts'
import type { Transaction } from '../store/engine/store.ts'
import { type Act, recordAct } from './activity.ts'
import { readMoment, requireSettled, type SettledContext, whenSettled } from './due-effects.ts'
import type { Opening } from './failed-effects.ts'

export type Dependencies = Opening

/** A function that returns the id of the party whose due effects must be applied first; undefined if there is none. */
export type FindParty = (tx: Transaction) => Promise<string | undefined>

/** The result of a change, and the acts to record in the activity. If nothing changed, there are no acts. */
export interface Changed<Result> {
  result: Result
  acts: readonly Act[]
}

/** Returns the result of work that changed nothing. */
export function unchanged<Result>(result: Result): Changed<Result> {
  return { result, acts: [] }
}

/**
 * Runs a change that no API operation makes, such as signing in or paying on a page. The change is made and recorded in
 * the activity in one transaction.
 */
export function runChange<Result>(
  dependencies: Dependencies,
  work: (context: SettledContext) => Promise<Changed<Result>>,
  findParty?: FindParty,
): Promise<Result> {
  return runSettled(
    dependencies,
    async (context) => {
      const { tx } = context
      const partyId = tx.clock.sandbox.staleRules > 0 ? await findParty?.(tx) : undefined
      const { result, acts } = await runAndSaveEarlierRows(
        tx,
        () => (partyId === undefined ? [] : [partyId]),
        () => work(context),
      )
      for (const act of acts) await recordAct(context, act)
      return result
    },
    findParty,
  )
}

/**
 * Runs `work` in a transaction, after all due effects of the party that `findParty` returns have been applied. This
 * function is for reads, and for changes to records that belong to no party, such as the authorization server's
 * records. Changes to these records are not recorded in the activity.
 */
export function runSettled<Result>(
  { store, system, log }: Dependencies,
  work: (context: SettledContext) => Promise<Result>,
  findParty?: FindParty,
): Promise<Result> {
  return whenSettled({ store, system, log }, (settling) =>
    store.transaction(async (tx) => {
      const moment = await readMoment(tx)
      const partyId = moment.isAnythingDue ? await findParty?.(tx) : undefined
      if (partyId !== undefined) await requireSettled(tx, system, moment, [partyId], settling)
      return work({ tx, system, ...moment.times })
    }),
  )
}
