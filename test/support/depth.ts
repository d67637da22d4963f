/**
 * Whether all cases run in full and loads last long, as in `.ci/run`; otherwise a part runs, which finds most problems.
 */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** Returns the number of runs of a property: `deep` in the deep run, a tenth of that otherwise. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 10))

/**
 * Returns the first of so many cases and each `nth` after it, with another offset for another table; in the deep run
 * all.
 */
export const sampleOf = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isDeep ? cases : cases.filter((_, index) => (index + from) % nth === 0)
