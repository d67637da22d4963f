import { fits, type Measure } from '../measures.ts'
import type { Effect } from '../results.ts'
import type { Assertion } from '../scenario.ts'

/** How much of something is asked for, and still left. */
export interface Budget extends Pick<Assertion, 'at' | 'to' | 'of'> {
  left: number
}

/** The most that assertions of one measure let be; 0: they ask for nothing. */
export function most(assertions: readonly Assertion[]): number {
  const bounds = assertions.flatMap(({ exactly, atMost }) => exactly ?? atMost ?? [])
  if (bounds.length > 0) return Math.min(...bounds)
  return Math.max(0, ...assertions.map(({ atLeast }) => atLeast ?? 0))
}

/** The least that they ask for. */
export function least(assertions: readonly Assertion[]): number {
  return Math.max(0, ...assertions.map(({ exactly, atLeast }) => exactly ?? atLeast ?? 0))
}

/** A budget for each merchant, payee and wallet that the assertions name. */
export function budgetsOf(assertions: readonly Assertion[], mostOf: (same: readonly Assertion[]) => number): Budget[] {
  const places = Map.groupBy(assertions, ({ at, to, of }) => JSON.stringify([at, to, of]))
  return [...places.values()].flatMap((same) => {
    const left = mostOf(same)
    const { at, to, of } = same[0] ?? {}
    return left === 0 ? [] : [{ left, ...withPlace({ at, to, of }) }]
  })
}

function withPlace({ at, to, of }: { [Name in 'at' | 'to' | 'of']: string | undefined }): Omit<Budget, 'left'> {
  return {
    ...(at === undefined ? {} : { at }),
    ...(to === undefined ? {} : { to }),
    ...(of === undefined ? {} : { of }),
  }
}

export const byMeasure = (assertions: readonly Assertion[], ...measures: Measure[]) =>
  assertions.filter(({ what }) => measures.includes(what))

/** Takes one from a budget that fits and has something left; false: there is none. */
export function take(budgets: readonly Budget[], effect: Effect): boolean {
  const budget = budgets.find((one) => one.left > 0 && fits(one, effect))
  if (budget === undefined) return false
  budget.left -= 1
  return true
}

/**
 * Money that may go to merchants or payees: sums and counts together. What names nobody bounds what others name, and lets
 * money go anywhere only where it stands alone.
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

  /** Whether anything is asked for there. */
  names(effect: Pick<Effect, 'at' | 'to' | 'of'>): boolean {
    const isNamed = this.#sums.length > 0 || this.#counts.some((count) => count[this.#place] !== undefined)
    const granting = [...this.#sums, ...this.#counts.filter((count) => !isNamed || count[this.#place] !== undefined)]
    return granting.some((one) => fits(one, effect))
  }

  /** Takes so many cents and one of the count; false: it is more than is left, or nothing is asked for there. */
  take(effect: Effect, cents: number): boolean {
    if (!this.names(effect)) return false
    const sums = this.#sums.filter((one) => fits(one, effect))
    const counts = this.#counts.filter((one) => fits(one, effect))
    if (sums.some(({ left }) => left < cents) || counts.some(({ left }) => left < 1)) return false
    for (const sum of sums) sum.left -= cents
    for (const count of counts) count.left -= 1
    return true
  }
}
