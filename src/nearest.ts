/** The word that is fewest changes of a letter away from `text`; undefined where all are others. */
export function nearest(text: string, words: readonly string[]): string | undefined {
  const distances = words.map((word) => ({ word, distance: distanceOf(text, word) }))
  const [first] = distances.sort((one, other) => one.distance - other.distance)
  return first !== undefined && first.distance <= Math.max(1, text.length / 3) ? first.word : undefined
}

/** Letters to insert, remove or replace until one is the other (Levenshtein). */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at++) {
    const next = [at]
    for (let column = 1; column <= other.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (one[at - 1] === other[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}
