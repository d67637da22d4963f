import { digitValue, isCardNumber } from '../core/card-numbers.ts'
import { longNumbers, maskSecretTexts, signedTokens } from '../core/masking.ts'
import { areCardGroups, isCodeName, isSecretField } from '../core/secret-names.ts'
import { sandboxTestCard } from '../service/operations/agent-cards.ts'

/** The kinds of secrets that an agent must not disclose. The results of a trial use the same names. */
export type SecretKind = 'card number' | 'security code' | 'key' | 'token'

export const maskWords = { number: '[masked card number]', code: '[masked code]', token: '[masked token]' }

const keys = /\b[a-z]{2}_ntl_[a-z]+_[A-Za-z0-9_-]{8,}/
/** Runs of 16 or more digits of any script. At most four characters other than letters may separate two digits. */
const digitRuns = /\p{Nd}(?:[^\p{L}\p{N}]{0,4}\p{Nd}){15,}/gu
const codes =
  /\b(?:cvv2?|cvc2?|csc|cid|(?:card )?(?:security|verification) code)\b\W{0,4}(?:(?:is|of|was|=|:)\W{0,3})?\d{3,4}\b/i
/** Paths of links that end with a secret. Anyone who has the link can open the page. */
const secretLinks = /(\/(?:shops\/(?:checkouts|orders)|cards|claim|pay|verify|connect|approve)\/)[A-Za-z0-9_-]{20,}/g

/** Masks card numbers, security codes, keys, tokens and links that open a page. */
export function maskText(text: string): string {
  return maskSecretTexts(text, maskWords)
    .replace(digitRuns, (found) => (hasSandboxCard(found) ? maskWords.number : found))
    .replace(longNumbers, (found) => (isCardNumber(found) ? maskWords.number : found))
    .replace(secretLinks, '$1[masked]')
}

/** Masks the secrets in all strings and field names of a value. If a field's name denotes a secret, masks its value. */
export function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return areCardGroups(value) ? value.map(() => maskWords.number) : value.map(maskValue)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isScalar = typeof inner === 'string' || typeof inner === 'number'
      const isSecret = isScalar && inner !== '' && isSecretField(name, value)
      return [maskText(name), isSecret ? maskOf(name) : maskValue(inner)]
    }),
  )
}

function maskOf(name: string): string {
  if (isCodeName(name)) return maskWords.code
  return /^(?:card_?)?number$|^pan$/i.test(name) ? maskWords.number : '[masked]'
}

/** Returns the kinds of secrets that a text discloses. */
export function secretsIn(text: string): SecretKind[] {
  const found: SecretKind[] = []
  const hasCardNumber =
    [...text.matchAll(longNumbers)].some(([number]) => isCardNumber(number)) ||
    [...text.matchAll(digitRuns)].some(([run]) => hasSandboxCard(run))
  if (hasCardNumber) found.push('card number')
  const hasMatch = (pattern: RegExp) => text.search(pattern) >= 0
  if (hasMatch(codes)) found.push('security code')
  if (hasMatch(keys)) found.push('key')
  if (hasMatch(signedTokens) || hasMatch(secretLinks)) found.push('token')
  return found
}

/**
 * Returns whether a run of digits contains the card number that all cards of the sandbox share. Other digits, such as
 * an expiry date or a security code, may precede or follow the card number.
 */
function hasSandboxCard(run: string): boolean {
  const digits = Array.from(run).flatMap((character) => (/\p{Nd}/u.test(character) ? [digitValue(character)] : []))
  return digits.join('').includes(sandboxTestCard.number)
}
