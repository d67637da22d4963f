/** Returns a function that caches the result for each argument until the argument is garbage-collected. */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, { value: Value }>()
  return (key) => {
    const found = values.get(key) ?? { value: compute(key) }
    values.set(key, found)
    return found.value
  }
}
