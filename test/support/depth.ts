/** Of what a property is tried, or a load lasts: all of it where `.ci/run` asks for it, else a part that finds most. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** How often a property is tried: `deep` times in the deep run, a fifth of that otherwise. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 5))
