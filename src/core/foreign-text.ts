/**
 * Makes untrusted text safe to show to a person or a model. The result is one line with at most three combining marks
 * in a row. Invisible characters, and characters that reverse the text around them, become a replacement mark. Returns
 * an empty string if no visible character is left; the caller then shows a description instead.
 */
export function foreignText(text: string): string {
  const line = text
    .normalize('NFC')
    .replace(/\s+/gu, ' ')
    .replace(emojiParts, '')
    .replace(hidden, replacementMark)
    .replace(/(\p{M}{3})\p{M}+/gu, '$1')
    .trim()
  return visible.test(line) ? line : ''
}

/**
 * Makes an untrusted name safe to show. If the name mixes alphabets, adds a hint, because it may imitate another name.
 * Returns `otherwise` if no character of the name is visible.
 */
export function foreignName(text: string, otherwise: string, maxLength = maxNameLength): string {
  const name = shortForeignText(text, maxLength)
  if (name === '') return otherwise
  // A name that was stored together with its hint gets no second hint.
  return name.endsWith(mixedHint) ? name : `${name}${hintOf(text)}`
}

/** Returns a hint if the text mixes alphabets (`mixesAlphabets`); otherwise an empty string. */
export function hintOf(text: string): string {
  return mixesAlphabets(text.slice(0, maxCheckedLength)) ? mixedHint : ''
}

/**
 * Returns whether a text mixes more alphabets than any language does (the level "Moderately Restrictive" of UTS #39).
 * Latin may be mixed with the scripts of Chinese, Japanese or Korean. It may also be mixed with one other script,
 * except scripts such as Cyrillic and Greek, whose letters look like Latin letters.
 */
export function mixesAlphabets(text: string): boolean {
  const found = new Set<string>()
  for (const [letter] of text.normalize('NFC').matchAll(/\p{L}/gu)) {
    const script = scripts.find(([, pattern]) => pattern.test(letter))?.[0]
    if (script !== 'Common') found.add(script ?? 'another')
  }
  const hasLatin = found.delete('Latin')
  if (found.size === 0 || eastAsian.some((mixed) => [...found].every((script) => mixed.has(script)))) return false
  return found.size > 1 || (hasLatin && likeLatin.some((script) => found.has(script)))
}

/** Makes untrusted text safe to show, and so short that it cannot push important text off the page. */
export function shortForeignText(text: string, maxLength = maxNameLength): string {
  // Combining marks and invisible characters take no space, so more characters are read than are shown.
  return shortened(foreignText(text.slice(0, maxLength * 8)), maxLength)
}

/** Shortens a string to at most `maxLength` characters, including an ellipsis at its end. Splits no surrogate pair. */
export function shortened(text: string, maxLength: number): string {
  const characters = [...text]
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join('')}…`
}

/** The maximum number of characters in a name, so that it fits in a heading. */
const maxNameLength = 80

/** How many characters are checked for mixed alphabets. No name is longer. */
const maxCheckedLength = 2_000

const mixedHint = ' (has letters of several alphabets)'

/** The scripts that UAX #31 recommends for identifiers, the most common first. */
const scripts = (
  'Latin Common Cyrillic Greek Han Hiragana Katakana Hangul Arabic Hebrew Devanagari Bengali Thai Armenian Georgian Bopomofo ' +
  'Ethiopic Gujarati Gurmukhi Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Tibetan'
)
  .split(' ')
  .map((script) => [script, new RegExp(`\\p{Script=${script}}`, 'u')] as const)

/** For Japanese, Chinese and Korean, in this order: the set of scripts that the language mixes. */
const eastAsian = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
].map((together) => new Set(together))

/**
 * The scripts with letters that look like Latin letters. `another` stands for every script that UAX #31 does not
 * recommend, such as Cherokee or Coptic.
 */
const likeLatin = ['Cyrillic', 'Greek', 'another']

const replacementMark = '\ufffd'

/** The joiners and variation selectors in pictographs. Removing them changes only how a pictograph looks. */
const emojiParts = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)[\ufe0e\ufe0f\u200d]+/gu

/**
 * Characters that are invisible, or that only affect the letters around them: control, direction and filler characters.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Letters, digits, punctuation and symbols, except the replacement mark. */
const visible = /(?!\ufffd)[\p{L}\p{N}\p{P}\p{S}]/u
