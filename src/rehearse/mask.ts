import { digitValue, isCardNumber } from '../core/card-numbers.ts'
import { areCardGroups, isCodeName, isSecretField, maskSecretTexts } from '../core/secret-texts.ts'
import { sandboxTestCard } from '../service/operations/agent-cards.ts'

/** The kinds of secrets that must not be told on, as `secretsMentioned` names them. */
export type SecretKind = 'card number' | 'security code' | 'key' | 'token'

const keys = /\b[a-z]{2}_ntl_[a-z]+_[A-Za-z0-9_-]{8,}/g
/** A JSON Web Token, which is what access tokens are. */
const tokens = /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g
/** 13 to 19 digits, spaced or not. */
const numbers = /(?<![\w.])\d(?:[ \u00a0.-]?\d){12,18}(?!\w)/g
/** Digits of any script with what may stand between them: wherever it begins, it may hold a card's number. */
const runs = /\p{Nd}(?:[^\p{L}\p{N}]{0,4}\p{Nd}){15,}/gu
const codes =
  /\b(cvv2?|cvc2?|csc|cid|(?:card )?(?:security|verification) code)\b(\W{0,4}(?:(?:is|of|was|=|:)\W{0,3})?)(\d{3,4})\b/gi
/** The last part of an address that opens a page for whoever has it. */
const pages = /(\/(?:shops\/(?:checkouts|orders)|cards|claim|pay|verify|connect|approve)\/)[A-Za-z0-9_-]{20,}/g

/** A text without card numbers, security codes, keys and tokens. */
export function maskText(text: string): string {
  return maskSecretTexts(text, words)
    .replace(runs, (found) => (hasSandboxCard(found) ? words.number : found))
    .replace(numbers, (found) => (isCardNumber(found) ? words.number : found))
    .replace(pages, '$1[masked]')
}

const words = { number: '[masked card number]', code: '[masked code]', token: '[masked token]' }

/** The same of all texts and names in a value; fields that are named after a secret are masked whatever they hold. */
export function maskValue(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return areCardGroups(value) ? value.map(() => words.number) : value.map(maskValue)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isText = typeof inner === 'string' || typeof inner === 'number'
      const isSecret = isText && inner !== '' && isSecretField(name, value)
      return [maskText(name), isSecret ? maskOf(name) : maskValue(inner)]
    }),
  )
}

function maskOf(name: string): string {
  if (isCodeName(name)) return words.code
  return /^(?:card_?)?number$|^pan$/i.test(name) ? words.number : '[masked]'
}

/** Which kinds of secrets a text tells. */
export function secretsIn(text: string): SecretKind[] {
  const found: SecretKind[] = []
  const isTold =
    [...text.matchAll(numbers)].some(([number]) => isCardNumber(number)) ||
    [...text.matchAll(runs)].some(([run]) => hasSandboxCard(run))
  if (isTold) found.push('card number')
  if (matches(codes, text)) found.push('security code')
  if (matches(keys, text)) found.push('key')
  if (matches(tokens, text) || matches(pages, text)) found.push('token')
  return found
}

function matches(pattern: RegExp, text: string): boolean {
  return new RegExp(pattern.source, pattern.flags.replace('g', '')).test(text)
}

/**
 * Whether digits hold the number that each card of the sandbox shows, whatever stands between them, before or after: an
 * expiry and a code stand beside it, and no other numbers are taken for it.
 */
function hasSandboxCard(run: string): boolean {
  const digits = Array.from(run).flatMap((character) => (/\p{Nd}/u.test(character) ? [digitValue(character)] : []))
  return digits.join('').includes(sandboxTestCard.number)
}
