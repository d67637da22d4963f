import { holdsCard, maskedNumber, withoutIssuedNumbers } from './card-numbers.ts'

/** The words that stand in place of a secret. */
export interface MaskWords {
  number: string
  code: string
  token: string
}

const usualWords: MaskWords = { number: maskedNumber, code: '[masked]', token: '[masked token]' }

/** Words that make a name that of a secret, however the name joins its words: `cardCvv`, `API_SECRET`, `x-api-key`. */
const secretWords: ReadonlySet<string> = new Set(
  'cvv cvc cvn cid csc pin pan otp totp secret password passphrase token key credential credentials authorization'.split(
    ' ',
  ),
)
const codeWords: ReadonlySet<string> = new Set('cvv cvc cvn cid csc'.split(' '))
/** A name that goes on so tells about a secret, and is none. */
const aboutSecrets: ReadonlySet<string> = new Set('id ids prefix type types count counts'.split(' '))
/** Names of secrets that no such word tells, and names that only look like those of secrets; words run together. */
const namesOfSecrets: ReadonlySet<string> = new Set(
  'number cardnumber accountnumber securitycode verificationcode verificationvalue cardverificationvalue cardverificationcode claimlink checkouturl paymentlinkurl apikey agentkey clientsecret signingsecret accesstoken refreshtoken managetoken'.split(
    ' ',
  ),
)
const harmlessNames: ReadonlySet<string> = new Set('idempotencykey publickey formtoken'.split(' '))

/** The words of a name, in small letters and without a number at their end. */
function wordsOf(name: string): string[] {
  return name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.toLowerCase().replace(/\d+$/, ''))
    .filter((word) => word !== '')
}

/** Whether a field, parameter or header of this name holds a secret, whatever the value looks like. */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name)
  const joined = words.join('')
  if (harmlessNames.has(joined)) return false
  if (namesOfSecrets.has(joined)) return true
  return words.some((word, at) => secretWords.has(word) && !aboutSecrets.has(words[at + 1] ?? ''))
}

/** The same of a field of an object: `key` beside `value` names a note, as in `{ key, value }`. */
export function isSecretField(name: string, of: object): boolean {
  return !(name === 'key' && Object.hasOwn(of, 'value')) && isSecretName(name)
}

/** Whether the items of a list are the groups of a card's number. */
export function areCardGroups(items: readonly unknown[]): boolean {
  const texts = items.map(String)
  return items.length > 1 && texts.every((text) => /^\s*\d{1,19}\s*$/.test(text)) && holdsCard(texts.join())
}

/** Whether such a field holds the code of a card. */
export function isCodeName(name: string): boolean {
  return (
    wordsOf(name).some((word) => codeWords.has(word)) ||
    /(?:security|verification)(?:code|value)$/.test(wordsOf(name).join(''))
  )
}

const keys = /(?<![a-z0-9])([a-z]{2}_ntl_[a-z]+_)[\w-]+/gi
const webhookSecrets = /\bwhsec_[\w+/=-]+/gi
/** A JSON Web Token, as access tokens are. */
const signedTokens = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g
const bearers = /\b(Bearer)\s+(?!<|\[)\S+/gi
const basics = /\b(Basic)\s+(?=[A-Za-z0-9+/]*[A-Z0-9+/])[A-Za-z0-9+/]{8,}={0,2}/g
const userInfo = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@:"']{0,200}:[^\s/?#@"']{1,500}@/gi
/** Up to the value of `name=value` and of `"name": "value"`, also within a JSON text that a text quotes. */
const assignments = /(?<![\w-])([A-Za-z][\w-]{1,80})(?:=["']?|\\{0,4}["']\s{0,4}:\s{0,4}\\{0,4}["'])(?![<$[{])/g
const assignedValue = /[^\s"'\\&;,<>]{3,2000}/y
const numbered = /(?<![\w-])([A-Za-z][\w-]{1,80})([^\w\n]{1,6}(?:(?:is|of|was)[^\w\n]{1,4})?)(?=\d{3,4}(?![\w-]))\d+/g
const phrased =
  /\b((?:card )?(?:security|verification) (?:code|value))\b([^\w\n]{0,4}(?:(?:is|of|was|=|:)[^\w\n]{0,3})?)\d{3,4}(?![\w-])/gi
/**
 * Masks the secrets in a text, whoever wrote it: card numbers glued to other digits, in groups or in base64, their codes,
 * keys, tokens, passwords in addresses, and values that the text assigns to the name of a secret. Takes linear time.
 */
export function maskSecretTexts(text: string, words: MaskWords = usualWords): string {
  const masked = text
    .replace(signedTokens, words.token)
    .replace(keys, '$1[masked]')
    .replace(webhookSecrets, 'whsec_[masked]')
    .replace(bearers, '$1 [masked]')
    .replace(basics, '$1 [masked]')
    .replace(userInfo, '$1[masked]@')
    .replace(phrased, `$1$2${words.code}`)
    .replace(numbered, (found, name: string, between: string) =>
      isCodeName(name) ? `${name}${between}${words.code}` : found,
    )
  return withoutIssuedNumbers(withoutAssigned(masked), words.number)
}

/** The value of a name that is no secret's is looked through too: `"note": "password=…"`. */
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
