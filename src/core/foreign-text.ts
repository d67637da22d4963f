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

/** A foreign text that names somebody or something; `otherwise` where nothing of it is to be seen. */
export function foreignName(text: string, otherwise: string, most = mostOfName): string {
  return shortForeignText(text, most) || otherwise
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
