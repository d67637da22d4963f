/**
 * Whether this is the deep run (`.ci/run`), which runs every case and longer load tests. Other runs use a sample of the
 * cases, which finds most problems.
 */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** Returns the number of random inputs for a property-based test: `deep` in the deep run, otherwise a tenth of it. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 10))

/**
 * Returns every `nth` case, or in the deep run all cases. With different values of `shift`, several tests sample
 * different cases.
 */
export const sampleOf = <T>(cases: readonly T[], nth: number, shift = 0): readonly T[] =>
  isDeep ? cases : cases.filter((_, index) => (index + shift) % nth === 0)
