import { maskedNumber, withoutCardNumbers, withoutIssuedNumbers } from './card-numbers.ts'
import { isCodeName, isSecretName, partsOfCodeNames, partsOfSecretNames } from './secret-names.ts'

/** The words that replace secrets. */
export interface MaskWords {
  number: string
  code: string
  token: string
}

const usualWords: MaskWords = { number: maskedNumber, code: '[masked]', token: '[masked token]' }

/** A JSON Web Token, such as an access token. */
export const signedTokens = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g

/** The only table of secrets other than card numbers and assigned values: the pattern of each kind, and its mask. */
const kinds: readonly { pattern: RegExp; mask: (words: MaskWords) => string | ((...found: string[]) => string) }[] = [
  { pattern: signedTokens, mask: ({ token }) => token },
  // Our own keys and webhook secrets.
  { pattern: /(?<![a-z0-9])([a-z]{2}_ntl_[a-z]+_)[\w-]+/gi, mask: () => '$1[masked]' },
  { pattern: /\bwhsec_[\w+/=-]+/gi, mask: () => 'whsec_[masked]' },
  // Headers, and passwords in addresses.
  { pattern: /\b(Bearer)\s+(?!<|\[)\S+/gi, mask: () => '$1 [masked]' },
  { pattern: /\b(Basic)\s+(?=[A-Za-z0-9+/]*[A-Z0-9+/])[A-Za-z0-9+/]{8,}={0,2}/g, mask: () => '$1 [masked]' },
  { pattern: /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@:"']{0,200}:[^\s/?#@"']{1,500}@/gi, mask: () => '$1[masked]@' },
  // Card security codes that follow their name.
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
 * Masks the secrets in a text from any author, in linear time. It masks card numbers, even within longer runs of
 * digits, in groups or in base64; card codes, keys, tokens and passwords in addresses; and values assigned to a
 * secret's name.
 */
export function maskSecretTexts(text: string, words: MaskWords = usualWords): string {
  let masked = text
  for (const { pattern, mask } of kinds) masked = masked.replace(pattern, mask(words) as string)
  return withoutIssuedNumbers(withoutAssigned(masked), words.number)
}

/** Matches the part of `name=value` and `"name": "value"` that precedes the value, even within a quoted JSON text. */
const assignments = /(?<![\w-])([A-Za-z][\w-]{1,80})(?:=["']?|\\{0,4}["']\s{0,4}:\s{0,4}\\{0,4}["'])(?![<$[{])/g
const assignedValue = /[^\s"'\\&;,<>]{3,2000}/y

/** Masks secrets that are assigned to a name. A value under a harmless name is searched too: `"note": "password=…"`. */
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
 * Masks secrets in our own texts, including every number of 13 to 19 digits, spaced or not. Everything else in our
 * texts passes unchanged, because an amount has fewer digits and `Bearer <API key>` is a placeholder.
 */
export function maskSecrets(text: string): string {
  return maskSecretTexts(text.replace(/\b(?:\d[ -]?){12,18}\d\b/g, maskedNumber))
}

/** Masks secrets in an untrusted text, in which a card number may be disguised. */
export function maskForeignText(text: string): string {
  return withoutCardNumbers(maskSecrets(text))
}

/**
 * Matches long words with both cases or with 64 hexadecimal digits, like every secret that this service creates. It
 * matches no id.
 */
const createdSecrets = /(?<![\w-])(?:(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{40,}|[\w-]*[0-9a-f]{64}[\w-]*)/g

/** 13 to 19 digits, in groups or not. */
export const longNumbers = /(?<![\w.])\d(?:[ \u00a0.-]?\d){12,18}(?!\w)/g

/**
 * Masks a text for storage. It does more than `maskForeignText`: it also masks the secret ends of links. The other
 * functions keep links, because links in our own texts must work.
 */
export function maskKeptText(text: string): string {
  return maskForeignText(text).replace(longNumbers, maskedNumber).replace(createdSecrets, '[masked]')
}

/** An id of this service as a whole JSON string or part of a path. Its digits are never masked. */
const ids = /(?<=["/])[a-z]{3}_[0-9a-f]{32}(?=["/]|$)/g

/** Matches escapes, anything that looks like a secret, and any part of a secret's name that is followed by a value. */
const suspicious = new RegExp(
  [
    String.raw`\\|\d(?:[^A-Za-z\d]{0,8}\d){11}|_ntl_|whsec_|bearer|basic\s|eyJ|:\/\/[^\s/]{0,701}@|(?<![\w-])[\w-]{40}`,
    String.raw`${partsOfCodeNames}|[MNO][DTjz][AEIMQUYcgk][w-z0-5]`,
    String.raw`(?:${partsOfSecretNames})(?:[^"]{0,200}"\s{0,4}:|[\w-]{0,80}(?:=|'\s{0,4}:))`,
  ].join('|'),
  'i',
)

/**
 * Returns whether `maskKeptText` may change a text, or a field in this JSON may be secret by its name. Most texts
 * contain no secret: for a usual answer this check takes 10 µs, and masking 200 µs. It returns true for every text with
 * characters beyond ASCII, because any of them may be a digit or a separator.
 */
export function mayHoldSecret(text: string): boolean {
  const rest = text.replace(ids, '')
  return /[^\0-\x7f]/.test(rest) || suspicious.test(rest)
}
