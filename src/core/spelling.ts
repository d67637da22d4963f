/** Returns the words whose spelling is closest to `text`, closest first. Ignores case, spaces, `-` and `_`. */
export function closestWords(text: string, words: readonly string[], count: number): string[] {
  return rankWords(text, words)
    .slice(0, count)
    .map(({ word }) => word)
}

/**
 * Returns the closest word if it is at most one change away, or at most one change for every three letters of `text`.
 * Otherwise returns undefined.
 */
export function nearestWord(text: string, words: readonly string[]): string | undefined {
  const [first] = rankWords(text, words)
  return first !== undefined && first.distance <= Math.max(1, normalizedWord(text).length / 3) ? first.word : undefined
}

function rankWords(text: string, words: readonly string[]) {
  const plainText = normalizedWord(text)
  return words
    .map((word) => ({ word, distance: distanceOf(plainText, normalizedWord(word)) }))
    .sort((one, other) => one.distance - other.distance)
}

/** The maximum number of characters to compare. No known word is longer. The limit keeps comparisons fast. */
const maxLength = 80

const normalizedWord = (text: string) => text.slice(0, maxLength).replace(/[-_ ]/g, '').toLowerCase()

/**
 * Returns the smallest number of changes that turn one string into the other (optimal string alignment). A change
 * inserts, removes or replaces a letter, or swaps two adjacent letters.
 */
function distanceOf(one: string, other: string): number {
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at++) {
    const next = [at]
    for (let column = 1; column <= other.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (one[at - 1] === other[column - 1] ? 0 : 1)
      const isSwapped = at > 1 && column > 1 && one[at - 1] === other[column - 2] && one[at - 2] === other[column - 1]
      const swapped = isSwapped ? (before[column - 2] ?? 0) + 1 : replaced
      next.push(Math.min(replaced, swapped, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[other.length] ?? 0
}
