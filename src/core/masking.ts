import { maskedNumber, withoutCardNumbers, withoutIssuedNumbers } from './card-numbers.ts'
import { isCodeName, isSecretName } from './secret-names.ts'

/** The words that stand in place of a secret. */
export interface MaskWords {
  number: string
  code: string
  token: string
}

const usualWords: MaskWords = { number: maskedNumber, code: '[masked]', token: '[masked token]' }

/** A JSON Web Token, as access tokens are. */
export const signedTokens = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g

/** The one table of the kinds of secrets, apart from card numbers and assigned values: how each is written, and its mask. */
const kinds: readonly { pattern: RegExp; mask: (words: MaskWords) => string | ((...found: string[]) => string) }[] = [
  { pattern: signedTokens, mask: ({ token }) => token },
  // Our own keys and webhook secrets.
  { pattern: /(?<![a-z0-9])([a-z]{2}_ntl_[a-z]+_)[\w-]+/gi, mask: () => '$1[masked]' },
  { pattern: /\bwhsec_[\w+/=-]+/gi, mask: () => 'whsec_[masked]' },
  // Headers, and passwords in addresses.
  { pattern: /\b(Bearer)\s+(?!<|\[)\S+/gi, mask: () => '$1 [masked]' },
  { pattern: /\b(Basic)\s+(?=[A-Za-z0-9+/]*[A-Z0-9+/])[A-Za-z0-9+/]{8,}={0,2}/g, mask: () => '$1 [masked]' },
  { pattern: /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@:"']{0,200}:[^\s/?#@"']{1,500}@/gi, mask: () => '$1[masked]@' },
  // Security codes behind their name.
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
 * Masks the secrets in a text, whoever wrote it: card numbers glued to other digits, in groups or in base64, their codes,
 * keys, tokens, passwords in addresses, and values that the text assigns to the name of a secret. Takes linear time.
 */
export function maskSecretTexts(text: string, words: MaskWords = usualWords): string {
  let masked = text
  for (const { pattern, mask } of kinds) masked = masked.replace(pattern, mask(words) as string)
  return withoutIssuedNumbers(withoutAssigned(masked), words.number)
}

/** Up to the value of `name=value` and of `"name": "value"`, also within a JSON text that a text quotes. */
const assignments = /(?<![\w-])([A-Za-z][\w-]{1,80})(?:=["']?|\\{0,4}["']\s{0,4}:\s{0,4}\\{0,4}["'])(?![<$[{])/g
const assignedValue = /[^\s"'\\&;,<>]{3,2000}/y

/** The value of a name that is no secret's is searched too: `"note": "password=…"`. */
function withoutAssigned(text: string): string {
  let [kept, from] = ['', 0]
  for (const { 0: found, 1: name = '', index } of text.matchAll(assignments)) {
    if (index < from || !isSecretName(name)) continue
    const at = index + found.length
    assignedValue.lastIndex = at
    const value = assignedValue.exec(text)?.[0]
    if (value === undefined || value.includes('[masked')) continue
    kept += `${text.slice(from, at)}[masked]`
    from = at + value.length
  }
  return kept + text.slice(from)
}

/**
 * Masks secrets in our own texts: also every number of 13 to 19 digits, spaced or not. They pass unchanged otherwise: an
 * amount has fewer digits, and `Bearer <API key>` says what to send.
 */
export function maskSecrets(text: string): string {
  return maskSecretTexts(text.replace(/\b(?:\d[ -]?){12,18}\d\b/g, maskedNumber))
}

/** Masks secrets in a text that somebody else wrote, in which a card number may be disguised. */
export function maskForeignText(text: string): string {
  return withoutCardNumbers(maskSecrets(text))
}

/** A long word of small and capital letters, or of many digits, as all secrets are that this service makes. No id is one. */
const madeSecrets = /(?<![\w-])(?:(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{40,}|[\w-]*[0-9a-f]{64}[\w-]*)/g

/** 13 to 19 digits, in groups or not. */
export const longNumbers = /(?<![\w.])\d(?:[ \u00a0.-]?\d){12,18}(?!\w)/g

/** Masks a text that is kept: as a foreign one, and also the ends of links. Our own texts have links that must work. */
export function maskKeptText(text: string): string {
  return maskForeignText(text).replace(longNumbers, maskedNumber).replace(madeSecrets, '[masked]')
}
