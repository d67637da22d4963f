/**
 * Stores a value as the newest of a map of at most `maxSize` entries. Returns the key of the evicted entry, which is the
 * oldest one.
 */
export function keepNewest<V>(map: Map<string, V>, key: string, value: V, maxSize: number): string | undefined {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.size > maxSize ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  return oldest
}
