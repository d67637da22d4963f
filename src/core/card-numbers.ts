/** The value of a decimal digit: Unicode has those of each script in ten places from its zero. */
export function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  if (code < 128) return code - 48
  let zero = code
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}

/** By the check digit that each card number has (ISO/IEC 7812-1, Luhn): most other long numbers have not. */
export function isCardNumber(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number)
  const sum = digits.reduce((total, digit, at) => {
    const counted = at % 2 === 0 ? digit : 2 * digit
    return total + (counted > 9 ? counted - 9 : counted)
  }, 0)
  return sum % 10 === 0 && digits.some((digit) => digit !== 0)
}

/** As JSON writes a character that is not seen, within a text that quotes one, and a JSON Pointer strokes (RFC 6901). */
const quotedSign = String.raw`\\(?:[bfnrt]|u[0-9a-f]{4})|~[01]`
/** What may set the digits of a card number apart: what is not seen, spaces, dashes, strokes, points. */
const apart = String.raw`(?:${quotedSign}|~(?![01])|[\s\p{Cc}\p{DI}\p{Cf}\p{Mn}\p{Pd}/\\|⁄∕／._·•*\u2800\ufffd]){0,8}`

const quotedSigns = new RegExp(quotedSign, 'g')
const digitsApart = String.raw`\p{Nd}(?:${apart}\p{Nd}){12,}`

/** Whether a text has as many digits in a row as a card number, however they are written and set apart. */
export const mayHoldCardNumber = new RegExp(digitsApart, 'u')

/** An id, a hash, a day or a telephone number (ITU-T E.164: at most 15 digits), whose digits stay, or digits that may be a card number's, whatever letter stands before them. */
const idOrDigits = new RegExp(
  [
    String.raw`\b(?:[a-z]{2,5}_)?[0-9a-f]{32}(?:[0-9a-f]{32})?\b`,
    String.raw`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`,
    String.raw`(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])-[0-3]\d(?!\d)`,
    String.raw`(?<!\d)\+\d(?:[ .()-]{0,2}\d){6,14}(?!${apart}\p{Nd})`,
    String.raw`((?:(?<!\p{N})|~[01])${digitsApart})`,
  ].join('|'),
  'gu',
)

/** What stands where a card number stood. */
export const maskedNumber = '[masked number]'

/** A text without the card numbers in it that are set apart by whatever is not a letter, or written in digits of any script. */
export function withoutCardNumbers(text: string): string {
  return text.replace(idOrDigits, (found, digits?: string) =>
    digits !== undefined && holdsCardNumber(digits) ? maskedNumber : found,
  )
}

/** A digit behind a tilde may be one of the number's, or a sign that is quoted. */
function holdsCardNumber(found: string): boolean {
  return hasCardNumber(found) || hasCardNumber(found.replace(quotedSigns, ' '))
}

/** An expiry, a code or a count may stand beside the number: it begins and ends where digits are set apart. */
function hasCardNumber(text: string): boolean {
  let digits = ''
  const bounds = [0]
  for (const group of text.match(/\p{Nd}+/gu) ?? []) {
    digits += [...group].map(digitValue).join('')
    bounds.push(digits.length)
  }
  return bounds.some((from, at) =>
    bounds
      .slice(at + 1, at + 20)
      .some((to) => to - from >= 13 && to - from <= 19 && isCardNumber(digits.slice(from, to))),
  )
}
