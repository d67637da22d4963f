/**
 * A text that anybody may have written, as a person or a model may be shown it: on one line, with what a screen does not
 * show replaced by a mark, with at most three marks on a letter, without what turns the direction of the text around it.
 * Empty where there is nothing to see in it: then whoever shows it says what it is the name of.
 */
export function foreignText(text: string): string {
  const line = text
    .normalize('NFC')
    .replace(/\s+/gu, ' ')
    .replace(emojiParts, '')
    .replace(hidden, mark)
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .trim()
  return seen.test(line) ? line : ''
}

/**
 * A foreign text that names somebody or something, with a hint where it may be mistaken for another name; `otherwise`
 * where nothing of it is to be seen.
 */
export function foreignName(text: string, otherwise: string, most = mostOfName): string {
  const name = shortForeignText(text, most)
  if (name === '') return otherwise
  // A name that was kept with its hint has it already.
  return name.endsWith(mixedHint) ? name : `${name}${hintOf(text)}`
}

/** Names what a person may not see: that letters of one alphabet stand among those of another, which look the same. */
export function hintOf(text: string): string {
  return mixesAlphabets(text.slice(0, mostLookedAt)) ? mixedHint : ''
}

/**
 * Whether the letters of a text are of more alphabets than any language mixes (the level "Moderately Restrictive" of UTS
 * #39): Latin goes with the scripts of Chinese, Japanese or Korean, and with one other script unless that is Cyrillic or
 * Greek, whose letters look like Latin ones.
 */
export function mixesAlphabets(text: string): boolean {
  const found = new Set<string>()
  for (const [letter] of text.normalize('NFC').matchAll(/\p{L}/gu)) {
    const script = scripts.find(([, pattern]) => pattern.test(letter))?.[0]
    if (script !== 'Common') found.add(script ?? 'another')
  }
  const hasLatin = found.delete('Latin')
  if (found.size === 0 || eastAsian.some((one) => [...found].every((script) => one.has(script)))) return false
  return found.size > 1 || (hasLatin && likeLatin.some((script) => found.has(script)))
}

/** A foreign text cut to at most so many characters: a longer one would push what matters off the page. */
export function shortForeignText(text: string, most = mostOfName): string {
  // Marks and what is not shown take no place, so some more is looked at than is shown.
  return shortened(foreignText(text.slice(0, most * 8)), most)
}

/** At most so many whole characters, the last of which says that some are missing. */
export function shortened(text: string, most: number): string {
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}

/** Longer ones do not fit a heading. */
const mostOfName = 80

/** Longer texts are no names. */
const mostLookedAt = 2_000

const mixedHint = ' (has letters of several alphabets)'

/** The scripts that UTS #31 recommends for identifiers, the usual ones first. */
const scripts = (
  'Latin Common Cyrillic Greek Han Hiragana Katakana Hangul Arabic Hebrew Devanagari Bengali Thai Armenian Georgian Bopomofo ' +
  'Ethiopic Gujarati Gurmukhi Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Tibetan'
)
  .split(' ')
  .map((script) => [script, new RegExp(`\\p{Script=${script}}`, 'u')] as const)

/** Scripts that are written together. */
const eastAsian = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
].map((together) => new Set(together))

/** Cherokee and Coptic letters, too, look like Latin ones: scripts that are not recommended count as one. */
const likeLatin = ['Cyrillic', 'Greek', 'another']

const mark = '\ufffd'

/**
 * Joiners and variants that pictographs are composed of. Leaving them out changes how a pictograph looks, and nothing
 * else.
 */
const emojiParts = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)[\ufe0e\ufe0f\u200d]+/gu

/** What a screen shows as nothing, or as something about the letters around it: control, direction, filler. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Letters, digits, punctuation and symbols, but for the mark itself. */
const seen = /(?!\ufffd)[\p{L}\p{N}\p{P}\p{S}]/u
