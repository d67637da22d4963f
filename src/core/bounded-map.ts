/**
 * Stores a value as the newest entry of a map. If the map then has more than `maxSize` entries, removes the oldest
 * entry and returns its key.
 */
export function keepNewest<V>(map: Map<string, V>, key: string, value: V, maxSize: number): string | undefined {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.size > maxSize ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  return oldest
}
