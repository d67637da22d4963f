import { foreignText, hintOf, shortened } from '../../core/foreign-text.ts'
import { maskSecrets } from '../../core/masking.ts'
import { money as inMoney } from '../../core/money.ts'

/**
 * Returns an untrusted string as one line of at most `longest` characters, in quotation marks that the string cannot
 * close. Secrets are masked, and invisible characters are replaced. A hint follows if the string mixes alphabets.
 */
export function quoted(text: unknown, longest = 80): string {
  return `“${shortened(maskSecrets(visibleText(String(text))), longest)}”${hintOf(String(text))}`
}

/**
 * Quotes a string, such as a payee's name, in full. A shortened or masked name could be mistaken for a different name.
 */
export function quotedWhole(text: unknown): string {
  return `“${visibleText(String(text))}”${hintOf(String(text))}`
}

/** Formats cents for a person: `$1,234.50`, or `EUR 1,234.50`. */
export function money(cents: unknown, currency: unknown = 'USD'): string {
  if (typeof cents !== 'number') return 'an unknown amount'
  return inMoney(cents, /^[A-Z]{3}$/.test(String(currency)) ? String(currency) : quoted(currency, 10))
}

/** Returns a status, an id or a similar word unchanged, and quotes anything else. */
export function word(text: unknown): string {
  return /^[\w.:-]{1,140}$/.test(String(text)) ? String(text) : quoted(text)
}

/** Turns a string into one line that is never empty and cannot close the quotation marks around it. */
function visibleText(text: string): string {
  return foreignText(text).replace(/[“”„‟"«»]/g, "'") || '\ufffd'
}
