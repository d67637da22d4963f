import { maskSecrets } from '../core/errors.ts'

/**
 * A text that an agent, a shop or a service wrote, without keys and card numbers. They are masked before results are
 * kept; a report goes to others, so that it looks again, and for numbers too whose digits somebody set apart.
 */
export function withoutSecrets(text: string): string {
  return maskSecrets(text).replace(idOrDigits, (found) => (hasCardNumber(found) ? '[masked number]' : found))
}

/**
 * An id, whose digits stay, or digits of any script with what may stand between those of a card: spaces, hyphens, points,
 * and what is not seen.
 */
const idOrDigits = /\b[a-z]{2,5}_[0-9a-f]{32}\b|\p{Nd}(?:[\s\p{Pd}\p{Cf}\p{Mn}._·\ufffd]{0,3}\p{Nd}){12,}/gu

function hasCardNumber(found: string): boolean {
  if (/^[a-z]/.test(found)) return false
  const values = [...found.normalize('NFKC')].filter((character) => /\p{Nd}/u.test(character)).map(digitValue)
  // A number or an expiry may stand beside the card's number.
  return values.some((_, from) => lengths.some((length) => passesLuhn(values.slice(from, from + length), length)))
}

/** Digits that a card number has (ISO/IEC 7812-1). */
const lengths = [13, 14, 15, 16, 17, 18, 19]

/** The value of a decimal digit: Unicode has those of each script in ten places from its zero. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  if (code < 128) return code - 48
  let zero = code
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}

/** ISO/IEC 7812-1, annex B: the Luhn check digit. */
function passesLuhn(values: readonly number[], length: number): boolean {
  if (values.length < length) return false
  const sum = values.toReversed().reduce((total, value, index) => {
    const doubled = index % 2 === 1 ? value * 2 : value
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}
