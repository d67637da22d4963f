import { digitValue, isCardNumber } from '../core/card-numbers.ts'
import { longNumbers, maskSecretTexts, signedTokens } from '../core/masking.ts'
import { areCardGroups, isCodeName, isSecretField } from '../core/secret-names.ts'
import { sandboxTestCard } from '../service/operations/agent-cards.ts'

/** The kinds of secrets that must not be disclosed, as named in `secretsMentioned`. */
export type SecretKind = 'card number' | 'security code' | 'key' | 'token'

export const maskWords = { number: '[masked card number]', code: '[masked code]', token: '[masked token]' }

const keys = /\b[a-z]{2}_ntl_[a-z]+_[A-Za-z0-9_-]{8,}/
/** Digits of any script, with anything but letters between them. A card number may begin at any digit. */
const runs = /\p{Nd}(?:[^\p{L}\p{N}]{0,4}\p{Nd}){15,}/gu
const codes =
  /\b(?:cvv2?|cvc2?|csc|cid|(?:card )?(?:security|verification) code)\b\W{0,4}(?:(?:is|of|was|=|:)\W{0,3})?\d{3,4}\b/i
/** Addresses whose secret last part opens a page for anyone who has it. */
const pages = /(\/(?:shops\/(?:checkouts|orders)|cards|claim|pay|verify|connect|approve)\/)[A-Za-z0-9_-]{20,}/g

/** Masks card numbers, security codes, keys, tokens and links that open a page. */
export function maskText(text: string): string {
  return maskSecretTexts(text, maskWords)
    .replace(runs, (found) => (hasSandboxCard(found) ? maskWords.number : found))
    .replace(longNumbers, (found) => (isCardNumber(found) ? maskWords.number : found))
    .replace(pages, '$1[masked]')
}

/** Masks all texts and names in a value. A field that is named after a secret is always masked. */
export function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return areCardGroups(value) ? value.map(() => maskWords.number) : value.map(maskValue)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isText = typeof inner === 'string' || typeof inner === 'number'
      const isSecret = isText && inner !== '' && isSecretField(name, value)
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
  const isTold =
    [...text.matchAll(longNumbers)].some(([number]) => isCardNumber(number)) ||
    [...text.matchAll(runs)].some(([run]) => hasSandboxCard(run))
  if (isTold) found.push('card number')
  const hasMatch = (pattern: RegExp) => text.search(pattern) >= 0
  if (hasMatch(codes)) found.push('security code')
  if (hasMatch(keys)) found.push('key')
  if (hasMatch(signedTokens) || hasMatch(pages)) found.push('token')
  return found
}

/**
 * Returns whether a run of digits contains the card number that all cards of the sandbox share. Other digits, such as
 * an expiry date or a security code, may precede or follow it.
 */
function hasSandboxCard(run: string): boolean {
  const digits = Array.from(run).flatMap((character) => (/\p{Nd}/u.test(character) ? [digitValue(character)] : []))
  return digits.join('').includes(sandboxTestCard.number)
}
