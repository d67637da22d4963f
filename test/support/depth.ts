/** Whether properties are tried in full and loads last long, as `.ci/run` asks for; otherwise a part of it, which finds most. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/**
 * Those of the cases that are tried on a database: all of them in the deep run. Otherwise SQLite takes all, and PostgreSQL,
 * which takes several times as long, each third: a table has every rule in several cases.
 */
export function casesOn<T>({ name }: { name: string }, cases: readonly T[]): T[] {
  return isDeep || name === 'sqlite' ? [...cases] : third(cases)
}

/** Each third, beginning elsewhere for another table. */
export const third = <T>(cases: readonly T[], from = 0): T[] => cases.filter((_, index) => (index + from) % 3 === 0)

/** How often a property is tried: `deep` times in the deep run, a fifth of that otherwise. */
export const tries = (deep: number): number => (isDeep ? deep : Math.ceil(deep / 5))
