import { maskedNumber, withoutCardNumbers, withoutIssuedNumbers } from './card-numbers.ts'
import { isCodeName, isSecretName, partsOfCodeNames, partsOfSecretNames } from './secret-names.ts'

/** The words that replace secrets. */
export interface MaskWords {
  number: string
  code: string
  token: string
}

const usualWords: MaskWords = { number: maskedNumber, code: '[masked]', token: '[masked token]' }

/** Matches JSON Web Tokens, such as access tokens. */
export const signedTokens = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g

/** The pattern and mask of each kind of secret, except card numbers and assigned values, which other functions mask. */
const kinds: readonly { pattern: RegExp; mask: (words: MaskWords) => string | ((...found: string[]) => string) }[] = [
  { pattern: signedTokens, mask: ({ token }) => token },
  // This service's own keys and webhook secrets.
  { pattern: /(?<![a-z0-9])([a-z]{2}_ntl_[a-z]+_)[\w-]+/gi, mask: () => '$1[masked]' },
  { pattern: /\bwhsec_[\w+/=-]+/gi, mask: () => 'whsec_[masked]' },
  // Credentials in HTTP headers, and passwords in URLs.
  { pattern: /\b(Bearer)\s+(?!<|\[)\S+/gi, mask: () => '$1 [masked]' },
  { pattern: /\b(Basic)\s+(?=[A-Za-z0-9+/]*[A-Z0-9+/])[A-Za-z0-9+/]{8,}={0,2}/g, mask: () => '$1 [masked]' },
  { pattern: /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@:"']{0,200}:[^\s/?#@"']{1,500}@/gi, mask: () => '$1[masked]@' },
  // Card security codes after a name such as `security code` or `cvv`.
  {
    pattern:
      /\b((?:card )?(?:security|verification) (?:code|value))\b([^\w\n]{0,4}(?:(?:is|of|was|=|:)[^\w\n]{0,3})?)\d{3,4}(?![\w-])/gi,
    mask: ({ code }) => `$1$2${code}`,
  },
  {
    pattern: /(?<![\w-])([A-Za-z][\w-]{1,80})([^\w\n]{1,6}(?:(?:is|of|was)[^\w\n]{1,4})?)(?=\d{3,4}(?![\w-]))\d+/g,
    mask:
      ({ code }) =>
      (found, name = '', between = '') =>
        isCodeName(name) ? `${name}${between}${code}` : found,
  },
]

/**
 * Masks the secrets in any text, in linear time. Masks card numbers, even within longer runs of digits, in several
 * groups or in base64. Also masks card security codes, keys, tokens, passwords in URLs, and values assigned to a
 * secret's name, as in `password=…`.
 */
export function maskSecretTexts(text: string, words: MaskWords = usualWords): string {
  let masked = text
  for (const { pattern, mask } of kinds) masked = masked.replace(pattern, mask(words) as string)
  return withoutIssuedNumbers(withoutAssigned(masked), words.number)
}

/**
 * Matches the part before the value in `name=value` or `"name": "value"`, even if the quotes are escaped in a JSON
 * string.
 */
const assignments = /(?<![\w-])([A-Za-z][\w-]{1,80})(?:=["']?|\\{0,4}["']\s{0,4}:\s{0,4}\\{0,4}["'])(?![<$[{])/g
const assignedValue = /[^\s"'\\&;,<>]{3,2000}/y

/** Masks the values of names such as `password`, even inside the value of another name: `"note": "password=…"`. */
function withoutAssigned(text: string): string {
  let [masked, from] = ['', 0]
  for (const { 0: found, 1: name = '', index } of text.matchAll(assignments)) {
    if (index < from || !isSecretName(name)) continue
    const at = index + found.length
    assignedValue.lastIndex = at
    const value = assignedValue.exec(text)?.[0]
    if (value === undefined || value.includes('[masked')) continue
    masked += `${text.slice(from, at)}[masked]`
    from = at + value.length
  }
  return masked + text.slice(from)
}

/**
 * Masks secrets in text that this program wrote, including every number of 13 to 19 digits, with or without spaces or
 * hyphens. Amounts, which have fewer digits, and placeholders such as `Bearer <API key>` stay readable.
 */
export function maskSecrets(text: string): string {
  return maskSecretTexts(text.replace(/\b(?:\d[ -]?){12,18}\d\b/g, maskedNumber))
}

/** Masks secrets in untrusted text, including card numbers disguised by unusual digits or separators. */
export function maskForeignText(text: string): string {
  return withoutCardNumbers(maskSecrets(text))
}

/**
 * Matches long words that mix uppercase and lowercase letters or contain 64 hexadecimal digits. Every secret that this
 * service creates is such a word, and no id is.
 */
const createdSecrets = /(?<![\w-])(?:(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{40,}|[\w-]*[0-9a-f]{64}[\w-]*)/g

/** Matches numbers of 13 to 19 digits, with or without separators. */
export const longNumbers = /(?<![\w.])\d(?:[ \u00a0.-]?\d){12,18}(?!\w)/g

/**
 * Masks text before it is stored. Unlike the other functions in this file, this one also masks the secrets in links.
 * The others leave links unchanged, because the links in the service's own messages must work.
 */
export function maskKeptText(text: string): string {
  return maskForeignText(text).replace(longNumbers, maskedNumber).replace(createdSecrets, '[masked]')
}

/** Matches an id of this service, as a whole JSON string or as a segment of a path. Ids are never masked. */
const ids = /(?<=["/])[a-z]{3}_[0-9a-f]{32}(?=["/]|$)/g

/** Matches backslashes, anything that looks like a secret, and any part of a secret's name that precedes a value. */
const suspicious = new RegExp(
  [
    String.raw`\\|\d(?:[^A-Za-z\d]{0,8}\d){11}|_ntl_|whsec_|bearer|basic\s|eyJ|:\/\/[^\s/]{0,701}@|(?<![\w-])[\w-]{40}`,
    `${partsOfCodeNames}|[MNO][DTjz][AEIMQUYcgk][w-z0-5]`,
    String.raw`(?:${partsOfSecretNames})(?:[^"]{0,200}"\s{0,4}:|[\w-]{0,80}(?:=|'\s{0,4}:))`,
  ].join('|'),
  'i',
)

/**
 * Returns whether `maskKeptText` may change the text, or whether the text is JSON with a field name that suggests a
 * secret. This check saves time, because most answers contain no secret: for a typical answer, the check takes 10 µs,
 * and masking takes 200 µs. If the text has a non-ASCII character, the result is always true, because the character may
 * be a digit or a separator.
 */
export function mayHoldSecret(text: string): boolean {
  const rest = text.replace(ids, '')
  return /[^\0-\x7f]/.test(rest) || suspicious.test(rest)
}
