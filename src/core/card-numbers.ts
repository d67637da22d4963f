/**
 * Returns the value of a decimal digit of any script. In Unicode, the digits 0 to 9 of a script are ten consecutive
 * code points. Several such sequences may follow each other without a gap, so the loop may run back past several zeros.
 */
export function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0
  if (code < 128) return code - 48
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return (code - zero) % 10
}

/**
 * Returns whether the digits of a string pass the Luhn check. Every card number passes (ISO/IEC 7812-1). Only one in
 * ten of all other numbers does.
 */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  return luhnChecker(digits)(0, digits.length)
}

/**
 * Returns a function that checks in constant time whether the digits from index `from` up to, but not including, `to`
 * pass the Luhn check.
 */
export function luhnChecker(digits: string): (from: number, to: number) => boolean {
  // Running Luhn sums: entry n is the sum of the first n digits. The digits at even indexes are doubled in `even`, and
  // the digits at odd indexes are doubled in `odd`.
  const [even, odd] = [new Uint32Array(digits.length + 1), new Uint32Array(digits.length + 1)]
  for (let at = 0; at < digits.length; at++) {
    const once = digits.charCodeAt(at) - 48
    const twice = once > 4 ? 2 * once - 9 : 2 * once
    even[at + 1] = (even[at] ?? 0) + (at % 2 === 0 ? twice : once)
    odd[at + 1] = (odd[at] ?? 0) + (at % 2 === 0 ? once : twice)
  }
  return (from, to) => {
    // The Luhn check doubles every second digit, counted from the end. The first doubled digit is at index `to - 2`.
    const sums = to % 2 === 0 ? even : odd
    const sum = (sums[to] ?? 0) - (sums[from] ?? 0)
    return sum > 0 && sum % 10 === 0
  }
}

/** Matches escape sequences of a JSON string, such as `\n`, and of a JSON Pointer (`~0` and `~1`, RFC 6901). */
const escapePattern = String.raw`\\(?:[bfnrt]|u[0-9a-f]{4})|~[01]`
const escapes = new RegExp(escapePattern, 'g')

/** The characters that may separate the digits of a card number, such as spaces, dashes and invisible characters. */
const separators = String.raw`\s\p{Cc}\p{DI}\p{Cf}\p{Mn}\p{Pd}/\\|⁄∕／._·•*\u2800\ufffd`
const separatorPattern = (separators: string) => `(?:${escapePattern}|~(?![01])|[${separators}]){0,8}`
const separatedDigits = (separator: string) => String.raw`\p{Nd}(?:${separator}\p{Nd}){12,}`

/**
 * Builds a pattern with two kinds of matches. It matches ids, hashes, dates and telephone numbers (ITU-T E.164: at most
 * 15 digits) so that they are not masked. It also matches and captures digits that may contain a card number, even if
 * the digits directly follow a letter.
 */
const idOrDigits = (separator: string) =>
  new RegExp(
    [
      String.raw`\b(?:[a-z]{2,5}_)?[0-9a-f]{32}(?:[0-9a-f]{32})?\b`,
      String.raw`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`,
      String.raw`(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])-[0-3]\d(?!\d)`,
      String.raw`(?<!\d)\+\d(?:[ .()-]{0,2}\d){6,14}(?!${separator}\p{Nd})`,
      String.raw`((?:(?<!\p{N})|~[01])${separatedDigits(separator)})`,
    ].join('|'),
    'gu',
  )
const usual = idOrDigits(separatorPattern(separators))
const strict = idOrDigits(separatorPattern(`_${separators}`))

/** The mask for a card number. */
export const maskedNumber = '[masked number]'

interface CardMask {
  mask?: string
  /**
   * Whether to also find card numbers that are only a part of a group of digits, or that have underscores between their
   * digits.
   */
  isStrict?: boolean
}

/** Masks card numbers that are written in the digits of any script, with or without separators. */
export function withoutCardNumbers(text: string, { mask = maskedNumber, isStrict = false }: CardMask = {}): string {
  return withoutIssuedNumbers(text, mask).replace(isStrict ? strict : usual, (found, digits?: string) =>
    digits !== undefined && hasCardEitherWay(digits, isStrict) ? mask : found,
  )
}

/**
 * Returns whether the text contains a card number, either with or without the digits of its escape sequences. In `~1`,
 * for example, the digit may belong to a card number or to an escape sequence.
 */
function hasCardEitherWay(found: string, isStrict: boolean): boolean {
  const unquoted = found.replace(escapes, ' ')
  return hasCardNumber(found, isStrict) || (unquoted !== found && hasCardNumber(unquoted, isStrict))
}

/**
 * Returns whether a string contains an issued card number (`holdsCard`), or 13 to 19 digits that pass the Luhn check.
 * Unless `isStrict` is set, these digits must be whole groups. Other groups, such as an expiry date, may come before or
 * after them.
 */
function hasCardNumber(text: string, isStrict: boolean): boolean {
  const groups = (text.match(/\p{Nd}+/gu) ?? []).map((group) => [...group].map(digitValue).join(''))
  if (holdsCard(groups.join(' '))) return true
  const digits = groups.join('')
  const bounds = [0]
  for (const { length } of isStrict ? digits : groups) bounds.push((bounds.at(-1) ?? 0) + length)
  const passesLuhn = luhnChecker(digits)
  return bounds.some((from, at) => {
    for (let next = at + 1; next < bounds.length; next++) {
      const to = bounds[next] ?? 0
      if (to - from > 19) return false
      if (to - from >= 13 && passesLuhn(from, to)) return true
    }
    return false
  })
}

/** The lengths of issued card numbers, by their first digits (ISO/IEC 7812-1). */
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
 * Returns whether a string contains, in ASCII digits, a number that a card network could issue. The number may be a
 * part of one group of digits. It may also consist of several groups of the sizes printed on cards, with anything
 * between them.
 */
export function holdsCard(text: string): boolean {
  const groups = text.match(/\d+/g) ?? []
  const digits = groups.join('')
  if (digits.length < 13) return false
  const passesLuhn = luhnChecker(digits)
  const starts = [0]
  for (const group of groups) starts.push((starts.at(-1) ?? 0) + group.length)
  const isCard = (from: number, to: number) =>
    passesLuhn(from, to) &&
    issued.some(([range, lengths]) => lengths.includes(to - from) && range.test(digits.slice(from, from + 4)))
  return groups.some((group, at) => {
    const from = starts[at] ?? 0
    return hasCardInGroup(group.length, from, isCard) || isCardAcrossGroups(groups, starts, at, isCard)
  })
}

type IsCard = (from: number, to: number) => boolean

/**
 * Returns whether a group of digits contains a card number, even with other digits before or after it, such as an
 * expiry date.
 */
function hasCardInGroup(length: number, from: number, isCard: IsCard): boolean {
  for (let start = from; start <= from + length - 13; start++) {
    for (let size = 13; size <= 19 && start + size <= from + length; size++) {
      if (isCard(start, start + size)) return true
    }
  }
  return false
}

/**
 * Returns whether the group at index `at` and one or more groups after it form a card number. The groups must have the
 * same length, at least four digits; only the last group may be shorter. The group lengths on cards of American Express
 * and Diners Club are also accepted.
 */
function isCardAcrossGroups(groups: readonly string[], starts: readonly number[], at: number, isCard: IsCard): boolean {
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

/** Matches the base64 form of three ASCII digits. */
const encodedDigits = /[MNO][DTjz][AEIMQUYcgk][w-z0-5]/
const encoded = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,16384}={0,2}/g
/**
 * Matches groups of digits with no letters between them. Digits next to a letter do not match, because they belong to
 * an id.
 */
const digitGroups = /(?<![\p{L}\p{N}_])\d+(?:[^\p{L}\p{N}\n]{1,6}\d+)*(?![\p{L}\p{N}_])/gu

/** Masks numbers that a card network could issue, whether in one group, in several groups or in base64. */
export function withoutIssuedNumbers(text: string, mask = maskedNumber): string {
  const plain = text.replace(digitGroups, (found) => (holdsCard(found) ? mask : found))
  if (!encodedDigits.test(plain)) return plain
  // A slash belongs to the base64 alphabet, but also separates the parts of a path. So the whole text is decoded, and
  // then each part between slashes.
  const isCard = (part: string) =>
    encodedDigits.test(part) && holdsCardIn(Buffer.from(part, 'base64').toString('latin1'))
  return plain.replace(encoded, (found) => (isCard(found) || found.split('/').some(isCard) ? mask : found))
}

function holdsCardIn(decoded: string): boolean {
  return /^[\x20-\x7e\s]+$/.test(decoded) && withoutIssuedNumbers(decoded, '') !== decoded
}
