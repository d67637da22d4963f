/** Returns a function that caches the result for each argument, as long as the argument lives. */
export function memoize<Key extends object, Value>(workOut: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>()
  return (key) => {
    const found = known.get(key) ?? { value: workOut(key) }
    known.set(key, found)
    return found.value
  }
}
