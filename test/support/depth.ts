/**
 * True in the deep run (`.ci/run`): every case runs, and load tests run long. Otherwise a sample runs, which finds most
 * problems.
 */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** Returns the number of runs of a property: `deep` in the deep run, a tenth of that otherwise. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 10))

/**
 * Returns each `nth` case, shifted by `from` so that several tables sample different cases. The deep run gets all
 * cases.
 */
export const sampleOf = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isDeep ? cases : cases.filter((_, index) => (index + from) % nth === 0)
