/**
 * Keeps a value as the newest of a map of at most `most`; gives back the key that had to go, which is the one that was
 * kept the longest ago.
 */
export function keepNewest<V>(map: Map<string, V>, key: string, value: V, most: number): string | undefined {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.size > most ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
  return oldest
}
