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
  const digits = text.replace(/\D/g, '')
  return checkedSpans(digits)(0, digits.length)
}

/** Returns what tells of each span of these digits, in constant time, whether it has the check digit of a card number. */
export function checkedSpans(digits: string): (from: number, to: number) => boolean {
  // By each position, the sum of the digits before it where those at even positions count twice, or at odd ones.
  const [even, odd] = [new Uint32Array(digits.length + 1), new Uint32Array(digits.length + 1)]
  for (let at = 0; at < digits.length; at++) {
    const once = digits.charCodeAt(at) - 48
    const twice = once > 4 ? 2 * once - 9 : 2 * once
    even[at + 1] = (even[at] ?? 0) + (at % 2 === 0 ? twice : once)
    odd[at + 1] = (odd[at] ?? 0) + (at % 2 === 0 ? once : twice)
  }
  return (from, to) => {
    // Counted from the end, the second digit counts twice.
    const sums = to % 2 === 0 ? even : odd
    const sum = (sums[to] ?? 0) - (sums[from] ?? 0)
    return sum > 0 && sum % 10 === 0
  }
}

/** As JSON writes a character that is not seen, within a text that quotes one, and a JSON Pointer strokes (RFC 6901). */
const quotedSign = String.raw`\\(?:[bfnrt]|u[0-9a-f]{4})|~[01]`
const quotedSigns = new RegExp(quotedSign, 'g')

/** What may set the digits of a card number apart: what is not seen, spaces, dashes, strokes, points. */
const separators = String.raw`\s\p{Cc}\p{DI}\p{Cf}\p{Mn}\p{Pd}/\\|⁄∕／._·•*\u2800\ufffd`
const apartBy = (some: string) => `(?:${quotedSign}|~(?![01])|[${some}]){0,8}`
const digitsApart = (apart: string) => String.raw`\p{Nd}(?:${apart}\p{Nd}){12,}`

/** Whether a text has as many digits in a row as a card number, however they are written and set apart. */
export const mayHoldCardNumber = new RegExp(digitsApart(apartBy(separators)), 'u')

/** An id, a hash, a day or a telephone number (ITU-T E.164: at most 15 digits), whose digits stay, or digits that may be a card number's, whatever letter stands before them. */
const idOrDigits = (apart: string) =>
  new RegExp(
    [
      String.raw`\b(?:[a-z]{2,5}_)?[0-9a-f]{32}(?:[0-9a-f]{32})?\b`,
      String.raw`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`,
      String.raw`(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])-[0-3]\d(?!\d)`,
      String.raw`(?<!\d)\+\d(?:[ .()-]{0,2}\d){6,14}(?!${apart}\p{Nd})`,
      String.raw`((?:(?<!\p{N})|~[01])${digitsApart(apart)})`,
    ].join('|'),
    'gu',
  )
const usual = idOrDigits(apartBy(separators))
const strict = idOrDigits(apartBy(`_${separators}`))

/** The word that stands where a card number stood. */
export const maskedNumber = '[masked number]'

interface CardMask {
  word?: string
  /** Whether a number may begin and end within a group of digits, and have underscores within. */
  isStrict?: boolean
}

/** Masks card numbers that are set apart by anything but letters, or written in digits of any script. */
export function withoutCardNumbers(text: string, { word = maskedNumber, isStrict = false }: CardMask = {}): string {
  return withoutIssuedNumbers(text, word).replace(isStrict ? strict : usual, (found, digits?: string) =>
    digits !== undefined && holdsCardNumber(digits, isStrict) ? word : found,
  )
}

/** A digit behind a tilde may be one of the number's, or a sign that is quoted. */
function holdsCardNumber(found: string, isStrict: boolean): boolean {
  const unquoted = found.replace(quotedSigns, ' ')
  return hasCardNumber(found, isStrict) || (unquoted !== found && hasCardNumber(unquoted, isStrict))
}

/** An expiry, a code or a count may stand beside the number: it begins and ends where digits are set apart. */
function hasCardNumber(text: string, isStrict: boolean): boolean {
  const groups = (text.match(/\p{Nd}+/gu) ?? []).map((group) => [...group].map(digitValue).join(''))
  if (holdsCard(groups.join(' '))) return true
  const digits = groups.join('')
  const bounds = [0]
  for (const { length } of isStrict ? digits : groups) bounds.push((bounds.at(-1) ?? 0) + length)
  const isChecked = checkedSpans(digits)
  return bounds.some((from, at) => {
    for (let next = at + 1; next < bounds.length; next++) {
      const to = bounds[next] ?? 0
      if (to - from > 19) return false
      if (to - from >= 13 && isChecked(from, to)) return true
    }
    return false
  })
}

/** By the first digits, the lengths of the card numbers that are issued (ISO/IEC 7812-1). */
const issued: readonly (readonly [range: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^3(?:0[0-5]|[689])/, [14, 16, 19]],
  [/^35(?:2[89]|[3-8])/, [16]],
  [/^(?:6011|64[4-9]|65|62)/, [16, 19]],
  [/^(?:5018|5020|5038|5893|6304|6759|676[1-3])/, [13, 16, 18, 19]],
]

/**
 * Whether digits in ASCII, with anything between their groups, hold the number of a card that may be issued: anywhere in
 * one group, or over several groups as long as a card's number is written in such.
 */
export function holdsCard(text: string): boolean {
  const groups = text.match(/\d+/g) ?? []
  const digits = groups.join('')
  if (digits.length < 13) return false
  const isChecked = checkedSpans(digits)
  const starts = [0]
  for (const group of groups) starts.push((starts.at(-1) ?? 0) + group.length)
  const isCard = (from: number, to: number) =>
    isChecked(from, to) &&
    issued.some(([range, lengths]) => lengths.includes(to - from) && range.test(digits.slice(from, from + 4)))
  return groups.some((group, at) => {
    const from = starts[at] ?? 0
    return holdsWithin(group.length, from, isCard) || holdsOver(groups, starts, at, isCard)
  })
}

type IsCard = (from: number, to: number) => boolean

/** A number with an expiry and a code right behind it, or digits before it. */
function holdsWithin(length: number, from: number, isCard: IsCard): boolean {
  for (let start = from; start <= from + length - 13; start++) {
    for (let size = 13; size <= 19 && start + size <= from + length; size++) {
      if (isCard(start, start + size)) return true
    }
  }
  return false
}

/** Groups of one length from four digits up, of which the last may be shorter, or those of American Express and Diners Club. */
function holdsOver(groups: readonly string[], starts: readonly number[], at: number, isCard: IsCard): boolean {
  const first = groups[at]?.length ?? 0
  if (first < 4) return false
  for (let end = at + 1; end < groups.length; end++) {
    const [from, to] = [starts[at] ?? 0, starts[end + 1] ?? 0]
    if (to - from > 19) return false
    const lengths = groups.slice(at, end + 1).map(({ length }) => length)
    const isEven =
      first > 3 &&
      lengths.every((length, place) => length === first || (place === lengths.length - 1 && length < first))
    const isShaped = isEven || /^4,6,[45]$/.test(lengths.join())
    if (to - from >= 13 && isShaped && isCard(from, to)) return true
  }
  return false
}

/** Three digits in base64, and the text around them. */
const encodedDigits = /[MNO][DTjz][AEIMQUYcgk][w-z0-5]/
const encoded = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,16384}={0,2}/g
/** Digits set apart by anything but letters. Those within a word are of an id. */
const digitGroups = /(?<![\p{L}\p{N}_])\d+(?:[^\p{L}\p{N}\n]{1,6}\d+)*(?![\p{L}\p{N}_])/gu

/** A text without the numbers of cards that may be issued, in groups set apart by anything but letters, or in base64. */
export function withoutIssuedNumbers(text: string, word = maskedNumber): string {
  const plain = text.replace(digitGroups, (found) => (holdsCard(found) ? word : found))
  if (!encodedDigits.test(plain)) return plain
  // A stroke is of the alphabet, and also joins the parts of a path.
  const isCard = (part: string) =>
    encodedDigits.test(part) && holdsCardIn(Buffer.from(part, 'base64').toString('latin1'))
  return plain.replace(encoded, (found) => (isCard(found) || found.split('/').some(isCard) ? word : found))
}

function holdsCardIn(decoded: string): boolean {
  return /^[\x20-\x7e\s]+$/.test(decoded) && withoutIssuedNumbers(decoded, '') !== decoded
}
