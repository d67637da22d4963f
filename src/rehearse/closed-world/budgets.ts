import { isAboutSubject, type Measure, type Subject } from '../measures.ts'
import type { Effect } from '../results.ts'
import type { Assertion } from '../scenario.ts'

/** The part of an allowed amount or count that is not used up yet. */
export interface Budget extends Subject {
  left: number
}

/** Returns the most that assertions on one measure allow. If none has an upper bound, returns the highest minimum. */
export function maxAllowed(assertions: readonly Assertion[]): number {
  const bounds = assertions.flatMap(({ exactly, atMost }) => exactly ?? atMost ?? [])
  if (bounds.length > 0) return Math.min(...bounds)
  return Math.max(0, ...assertions.map(({ atLeast }) => atLeast ?? 0))
}

/** Returns the smallest value that satisfies the minimums of assertions on one measure. */
export function minAllowed(assertions: readonly Assertion[]): number {
  return Math.max(0, ...assertions.map(({ exactly, atLeast }) => exactly ?? atLeast ?? 0))
}

/** Creates a budget for each combination of merchant, payee and wallet in the assertions. */
export function budgetsOf(assertions: readonly Assertion[], maxOf: (same: readonly Assertion[]) => number): Budget[] {
  const groups = Map.groupBy(assertions, ({ at, to, of }) => JSON.stringify([at, to, of]))
  return [...groups.values()].flatMap((same) => {
    const left = maxOf(same)
    const { kind, at, to, of } = same[0] ?? {}
    return left === 0 ? [] : [{ left, kind, at, to, of }]
  })
}

export const byMeasure = (assertions: readonly Assertion[], ...measures: Measure[]) =>
  assertions.filter(({ what }) => measures.includes(what))

/** Deducts one from the first matching budget that is not used up. Returns false if there is no such budget. */
export function take(budgets: readonly Budget[], effect: Effect): boolean {
  const budget = budgets.find((one) => one.left > 0 && isAboutSubject(one, effect))
  if (budget === undefined) return false
  budget.left -= 1
  return true
}

/**
 * The money that may go to merchants or payees, limited by sums and by counts. A budget without a merchant or payee
 * limits the money for all of them. A count without a merchant or payee permits money for anyone only if all budgets
 * are such counts.
 */
export class MoneyBudgets {
  readonly #sums: readonly Budget[]
  readonly #counts: readonly Budget[]
  readonly #place: 'at' | 'to'

  constructor(place: 'at' | 'to', sums: readonly Budget[], counts: readonly Budget[]) {
    this.#sums = sums
    this.#counts = counts
    this.#place = place
  }

  /** Returns whether a budget permits money for the effect's merchant or payee, whether or not anything is left. */
  permits(effect: Pick<Effect, 'at' | 'to' | 'of'>): boolean {
    const isLimited = this.#sums.length > 0 || this.#counts.some((count) => count[this.#place] !== undefined)
    const granting = [...this.#sums, ...this.#counts.filter((count) => !isLimited || count[this.#place] !== undefined)]
    return granting.some((one) => isAboutSubject(one, effect))
  }

  /**
   * Deducts the cents from each matching sum, and one from each matching count. If no budget permits the effect, or if
   * too little is left, deducts nothing and returns false.
   */
  take(effect: Effect, cents: number): boolean {
    if (!this.permits(effect)) return false
    const sums = this.#sums.filter((one) => isAboutSubject(one, effect))
    const counts = this.#counts.filter((one) => isAboutSubject(one, effect))
    if (sums.some(({ left }) => left < cents) || counts.some(({ left }) => left < 1)) return false
    for (const sum of sums) sum.left -= cents
    for (const count of counts) count.left -= 1
    return true
  }
}
