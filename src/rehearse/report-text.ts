import { checkedSpans, digitValue } from '../core/card-numbers.ts'
import { maskText } from './mask.ts'

/**
 * A text that an agent, a shop or a service wrote, without secrets. They are masked before results are kept; a report goes
 * to others, so that it looks again, and for card numbers too whose digits somebody set apart or wrote in another script.
 */
export function withoutSecrets(text: string): string {
  return maskText(text).replace(idOrDigits, (found) => (hasCardNumber(found) ? '[masked card number]' : found))
}

/**
 * An id, whose digits stay, or digits of any script with what may stand between those of a card: spaces, hyphens, points,
 * and what is not seen.
 */
const idOrDigits = /\b[a-z]{2,5}_[0-9a-f]{32}\b|\p{Nd}(?:[\s\p{Pd}\p{Cf}\p{Mn}._·\ufffd]{0,3}\p{Nd}){12,}/gu

function hasCardNumber(found: string): boolean {
  if (/^[a-z]/.test(found)) return false
  const digits = (found.normalize('NFKC').match(/\p{Nd}/gu) ?? []).map(digitValue)
  const isChecked = checkedSpans(digits.join(''))
  // A number or an expiry may stand beside the card's number.
  return digits.some((_, from) =>
    lengths.some((length) => from + length <= digits.length && isChecked(from, from + length)),
  )
}

/** Digits that a card number has (ISO/IEC 7812-1). */
const lengths = [13, 14, 15, 16, 17, 18, 19]
