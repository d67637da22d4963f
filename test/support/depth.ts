/**
 * Whether this is the deep run (`.ci/run`), which runs every case and longer load tests. Other runs use only a sample
 * of the cases; the sample finds most problems.
 */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/**
 * Returns the number of random inputs for a property-based test: `deep` in the deep run, a tenth of `deep` in other
 * runs.
 */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 10))

/**
 * Returns every `nth` case. In the deep run, returns all cases. With different values of `shift`, tests sample
 * different cases.
 */
export const sampleOf = <T>(cases: readonly T[], nth: number, shift = 0): readonly T[] =>
  isDeep ? cases : cases.filter((_, index) => (index + shift) % nth === 0)
