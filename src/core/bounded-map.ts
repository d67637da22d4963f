/**
 * Stores a value as the newest of a map of at most `most` entries. Returns the key of the evicted entry, which is the
 * oldest one.
 */
export function keepNewest<V>(map: Map<string, V>, key: string, value: V, most: number): string | undefined {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.size > most ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  return oldest
}
