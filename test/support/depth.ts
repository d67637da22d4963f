/** Whether everything is tried in full and loads last long, as `.ci/run` asks for; otherwise a part of it, which finds most. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** How often a property is tried: `deep` times in the deep run, a tenth of that otherwise. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 10))

/** The first of so many cases and each `nth` after it, beginning later for another table; in the deep run all. */
export const sampleOf = <T>(cases: readonly T[], nth: number, from = 0): readonly T[] =>
  isDeep ? cases : cases.filter((_, index) => (index + from) % nth === 0)
