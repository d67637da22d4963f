/** Whether properties are tried in full and loads last long, as `.ci/run` asks for; otherwise a part of it, which finds most. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** How often a property is tried: `deep` times in the deep run, a fifth of that otherwise. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 5))
