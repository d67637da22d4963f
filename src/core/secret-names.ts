import { holdsCard } from './card-numbers.ts'

const words = (list: string): ReadonlySet<string> => new Set(list.split(' '))

/** The words and names that show whether a value is a secret. All are in lower case, without separators. */
const names = {
  /** Words that make a name secret in any notation, such as `cardCvv`, `API_SECRET` and `x-api-key`. */
  secretWords: words(
    'cvv cvc cvn cid csc pin pan otp totp secret password passphrase token key credential credentials authorization',
  ),
  codeWords: words('cvv cvc cvn cid csc'),
  /** Words that make the secret word before them harmless, such as `id` in `keyId`. */
  harmlessSuffixes: words('id ids prefix type types count counts'),
  /** Secret names that contain no secret word, or that are often written in lower case without separators. */
  secretNames: words(
    'number cardnumber accountnumber securitycode verificationcode verificationvalue cardverificationvalue cardverificationcode claimlink checkouturl paymentlinkurl cookie setcookie codeverifier apikey agentkey sandboxapikey sandboxagentkey clientsecret signingsecret accesstoken refreshtoken idtoken subjecttoken registrationaccesstoken managetoken proxyauthorization',
  ),
  harmlessNames: words('idempotencykey publickey formtoken'),
} as const

/** A pattern that occurs in every name that `isCodeName` accepts, and in some other names. */
export const partsOfCodeNames = 'c[vs][vcn]|cid|(?:security|verification)[^A-Za-z"]*(?:code|value)'

/** A pattern that occurs in every name that `isSecretName` accepts, and in some other names. */
export const partsOfSecretNames = `${partsOfCodeNames}|pin|pan|otp|pass|token|secret|credential|authorization|key|number|link|url|cookie|verifier`

/**
 * The attributes that the MCP server always removes from the API's answers, because hosts store everything that a model
 * reads. A client secret is for the payer's browser only (docs/service.md#client-secret).
 */
export const withheldFromModels: readonly string[] = ['clientSecret']

const codePart = new RegExp(partsOfCodeNames, 'i')
const secretPart = new RegExp(partsOfSecretNames, 'i')

/** Splits a name into words, in lower case and without trailing digits. */
function wordsOf(name: string): string[] {
  return name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.toLowerCase().replace(/\d+$/, ''))
    .filter((word) => word !== '')
}

/** Returns whether the name of a field, parameter or header says that its value is a secret. */
export function isSecretName(name: string): boolean {
  if (!secretPart.test(name)) return false
  const parts = wordsOf(name)
  const joined = parts.join('')
  if (names.harmlessNames.has(joined)) return false
  if (names.secretNames.has(joined)) return true
  return parts.some((word, at) => names.secretWords.has(word) && !names.harmlessSuffixes.has(parts[at + 1] ?? ''))
}

/**
 * Returns whether the field `name` of an object holds a secret. In `{ key, value }`, the field `key` holds a name, not
 * a secret.
 */
export function isSecretField(name: string, object: object): boolean {
  return !(name === 'key' && Object.hasOwn(object, 'value')) && isSecretName(name)
}

/** Returns whether a field of this name holds a card's security code. */
export function isCodeName(name: string): boolean {
  if (!codePart.test(name)) return false
  const parts = wordsOf(name)
  return (
    parts.some((word) => names.codeWords.has(word)) || /(?:security|verification)(?:code|value)$/.test(parts.join(''))
  )
}

/** Returns whether all items of a list are groups of digits that together contain a card number. */
export function areCardGroups(items: readonly unknown[]): boolean {
  const groups = items.map(String)
  return items.length > 1 && groups.every((group) => /^\s*\d{1,19}\s*$/.test(group)) && holdsCard(groups.join())
}
