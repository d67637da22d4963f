import { foreignText, hintOf, shortened } from '../../core/foreign-text.ts'
import { maskSecrets } from '../../core/masking.ts'
import { money as inMoney } from '../../core/money.ts'

/**
 * A text that anybody may have written, as a message to a person may hold it: in quotation marks that it cannot close,
 * on one line, no longer than `longest`, without what a screen does not show. What is left out leaves a mark.
 */
export function quoted(text: unknown, longest = 80): string {
  return `“${shortened(maskSecrets(visible(String(text))), longest)}”${hintOf(String(text))}`
}

/** The same of who gets the money: whole, for a shortened or masked one could be another. */
export function quotedWhole(text: unknown): string {
  return `“${visible(String(text))}”${hintOf(String(text))}`
}

/** Cents as a person reads them: `$1,234.50`, or `EUR 1,234.50`. */
export function money(cents: unknown, currency: unknown = 'USD'): string {
  if (typeof cents !== 'number') return 'an unknown amount'
  return inMoney(cents, /^[A-Z]{3}$/.test(String(currency)) ? String(currency) : quoted(currency, 10))
}

/** A word of a fixed list (a status, an id) as it is; anything that is none, quoted. */
export function word(text: unknown): string {
  return /^[\w.:-]{1,140}$/.test(String(text)) ? String(text) : quoted(text)
}

/** One line that cannot close the quotation marks around it, nor be mistaken for an empty one. */
function visible(text: string): string {
  return foreignText(text).replace(/[“”„‟"«»]/g, "'") || '\ufffd'
}
