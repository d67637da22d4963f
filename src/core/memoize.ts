/** Returns a function that caches the result for each argument, as long as the argument lives. */
export function memoize<Key extends object, Value>(workOut: (key: Key) => Value): (key: Key) => Value {
  const values = new WeakMap<Key, { value: Value }>()
  return (key) => {
    const found = values.get(key) ?? { value: workOut(key) }
    values.set(key, found)
    return found.value
  }
}
