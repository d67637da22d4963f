/**
 * Returns a function that calls `compute` once for each argument, and caches the result until the argument is
 * garbage-collected.
 */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, { value: Value }>()
  return (key) => {
    const found = values.get(key) ?? { value: compute(key) }
    values.set(key, found)
    return found.value
  }
}
