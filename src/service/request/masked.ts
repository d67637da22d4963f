import { maskedNumber, mayHoldCardNumber } from '../../core/card-numbers.ts'
import { maskForeignText, maskSecrets } from '../../core/errors.ts'

/** More than a person reads of one body. */
export const longestKept = 16_384
/** A secret that begins before the end of what is kept is looked at whole. */
const longestSecret = 2048
/** What is nested deeper, or has more parts, is no request of the API's and no answer. */
const deepest = 64
const mostParts = 4096

/** A text as it is kept, and how many characters of it are not. */
export interface Kept {
  text: string
  cut: number
}

/** Whether JSON may hold what is masked: written otherwise than it reads, like a secret, or under the name of one. */
const suspicious =
  /\\|\d(?:[ .-]?\d){11}|_ntl_|whsec_|bearer|eyJ|\bc[vs][vc]|[\w-]{40}|(?:security|verification) code|"[\w-]*(?:number|cvv|pin|pan|t?otp|passphrase|token|secret|password|credentials?|authorization|key|link|url|security[_-]?code)"/i

/** What fields are named that hold a secret in whatever they stand, in small letters and without what joins words. */
const secretNames = new Set(
  'number cardnumber pan cvv cvc cvv2 csc securitycode pin otp totp password passphrase secret clientsecret signingsecret token accesstoken refreshtoken processortoken publictoken managetoken credential credentials authorization apikey agentkey accountnumber claimlink checkouturl paymentlinkurl'.split(
    ' ',
  ),
)

/** A long word of small and capital letters, or of many digits, as all secrets are that this service makes. No id is one. */
const secretWords = /(?<![\w-])(?:(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{40,}|[\w-]*[0-9a-f]{64}[\w-]*)/g
/** A JSON Web Token, which is what access tokens are. */
const signedTokens = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g
const codes =
  /\b(c[vs][vc]2?|csc|(?:card )?(?:security|verification) code)\b(\W{0,4}(?:(?:is|of|was|=|:)\W{0,3})?)\d{3,4}\b/gi
const numbers = /(?<![\w.])\d(?:[ \u00a0.-]?\d){12,18}(?!\w)/g

/** A text without what reads like a secret: card numbers, security codes, keys, tokens, the ends of links. */
export function maskedText(text: string): string {
  return maskForeignText(text)
    .replace(numbers, maskedNumber)
    .replace(signedTokens, '[masked token]')
    .replace(secretWords, '[masked]')
    .replace(codes, '$1$2[masked]')
}

/** The same of a text that anybody wrote, of at most so many characters. */
export function shortMasked(text: string, most: number): Kept {
  const kept = maskedText(text.slice(0, most + longestSecret)).slice(0, most)
  return { text: kept, cut: Math.max(0, text.length - most) }
}

/**
 * JSON as it is kept: without the values of fields that are secret, and without what reads like a secret anywhere.
 * @param secretFields Fields that are secret in it besides.
 * @param value Gives what was parsed of it; it is asked only where something may have to be masked.
 */
export function maskedJson(text: string, secretFields: readonly string[], value: () => unknown): Kept {
  const head = text.slice(0, longestKept + longestSecret)
  if (secretFields.length === 0 && !suspicious.test(head) && !mayHoldCardNumber.test(head)) {
    return { text: head.slice(0, longestKept), cut: Math.max(0, text.length - longestKept) }
  }
  const masking = { secret: new Set(secretFields), left: mostParts, characters: longestKept + longestSecret }
  const kept = JSON.stringify(maskedValue(masking, value(), 0)) ?? ''
  // What was left out of it is not counted by the character.
  return { text: kept.slice(0, longestKept), cut: Math.max(0, Math.max(kept.length, text.length) - longestKept) }
}

interface Masking {
  secret: ReadonlySet<string>
  left: number
  characters: number
}

function maskedValue(masking: Masking, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskedString(masking, value)
  if (typeof value === 'number') return Math.abs(value) < 1e11 ? value : readable(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === deepest || masking.left <= 0 || masking.characters <= 0) return '…'
  if (Array.isArray(value)) {
    const items = value.slice(0, Math.max(1, masking.left))
    masking.left -= items.length
    return items.map((item) => maskedValue(masking, item, depth + 1))
  }
  const kept: [string, unknown][] = []
  for (const [name, inner] of Object.entries(value)) {
    if (masking.left-- <= 0 || masking.characters <= 0) break
    kept.push([maskedString(masking, name), maskedField(masking, name, inner, depth)])
  }
  return Object.fromEntries(kept)
}

function maskedField(masking: Masking, name: string, value: unknown, depth: number): unknown {
  // It says where a list goes on, and looks like a secret.
  if (name === 'nextCursor' && typeof value === 'string') return maskSecrets(value.slice(0, longestSecret))
  const isSecret = masking.secret.has(name) || isSecretName(name)
  if (isSecret && value !== null && typeof value !== 'boolean') return '[masked]'
  return maskedValue(masking, value, depth + 1)
}

/** Whether what has this name is a secret, in a body or in a query. */
export const isSecretName = (name: string) => secretNames.has(name.toLowerCase().replace(/[_-]/g, ''))

function maskedString(masking: Masking, text: string): string {
  const { text: kept } = shortMasked(text, Math.max(0, masking.characters))
  // What was looked at counts, however little of it is kept.
  masking.characters -= Math.min(text.length, Math.max(0, masking.characters))
  return kept.length < text.length && kept.length === 0 ? '…' : kept
}

/** A number that is a card's is none that an amount or a time could be. */
function readable(value: number): number | string {
  const text = String(value)
  return maskedText(text) === text ? value : maskedNumber
}
