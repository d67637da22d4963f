import { maskedNumber } from '../../core/card-numbers.ts'
import { maskKeptText, maskSecrets, mayHoldSecret } from '../../core/masking.ts'
import { areCardGroups, isSecretField } from '../../core/secret-names.ts'

/** The maximum number of characters to store from a body. */
const maxStored = 16_384
/**
 * The number of characters that masking reads after the stored part, to recognize a secret that begins in the stored
 * part and ends after it.
 */
const longestSecret = 2048
/** The maximum depth of nesting, and the maximum total number of values. The API's JSON stays within both limits. */
const maxDepth = 64
const maxParts = 4096

/** The stored part of a text, and the number of characters that were cut off its end. */
export interface CutText {
  text: string
  cut: number
}

/** Masks the secrets in an untrusted text, and cuts the text to at most `maxLength` characters. */
export function maskText(text: string, maxLength: number): CutText {
  const head = text.slice(0, maxLength + longestSecret)
  const masked = mayHoldSecret(head) ? maskKeptText(head) : head
  return { text: masked.slice(0, maxLength), cut: Math.max(0, text.length - maxLength) }
}

/** Cuts a text that contains no secrets to `maxStored` characters. */
export function cutText(text: string): CutText {
  return { text: text.slice(0, maxStored), cut: Math.max(0, text.length - maxStored) }
}

/**
 * Masks the values of secret fields, and everything else that looks like a secret, before JSON is stored.
 * @param secretFields The fields of this JSON that are secret, even if their names do not show it.
 * @param value Returns the parsed JSON. It is called only if the text may contain something to mask.
 */
export function maskJson(text: string, secretFields: readonly string[], value: () => unknown): CutText {
  const head = text.slice(0, maxStored + longestSecret)
  if (secretFields.length === 0 && !mayHoldSecret(head)) return cutText(text)
  const masking = {
    secretFields: new Set(secretFields),
    partsLeft: maxParts,
    charactersLeft: maxStored + longestSecret,
  }
  const masked = JSON.stringify(maskedValue(masking, value(), 0)) ?? ''
  // `cut` is approximate: masking skips values beyond the limits, and the length of skipped values is unknown.
  return { text: masked.slice(0, maxStored), cut: Math.max(0, Math.max(masked.length, text.length) - maxStored) }
}

interface Masking {
  secretFields: ReadonlySet<string>
  partsLeft: number
  charactersLeft: number
}

function maskedValue(masking: Masking, value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskedString(masking, value)
  if (typeof value === 'number') return Math.abs(value) < 1e11 ? value : readableNumber(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth || masking.partsLeft <= 0 || masking.charactersLeft <= 0) return '…'
  if (Array.isArray(value)) {
    if (areCardGroups(value)) return value.map(() => maskedNumber)
    const items = value.slice(0, Math.max(1, masking.partsLeft))
    masking.partsLeft -= items.length
    return items.map((item) => maskedValue(masking, item, depth + 1))
  }
  const entries: [string, unknown][] = []
  for (const name of Object.keys(value)) {
    if (masking.partsLeft-- <= 0 || masking.charactersLeft <= 0) break
    entries.push([maskedString(masking, name), maskedField(masking, name, value, depth)])
  }
  return Object.fromEntries(entries)
}

function maskedField(masking: Masking, name: string, parent: object, depth: number): unknown {
  const value = (parent as Record<string, unknown>)[name]
  // A cursor looks like a secret, but is not one.
  if (name === 'nextCursor' && typeof value === 'string') return maskSecrets(value.slice(0, longestSecret))
  const isSecret = masking.secretFields.has(name) || isSecretField(name, parent)
  if (isSecret && value !== null && typeof value !== 'boolean') return '[masked]'
  return maskedValue(masking, value, depth + 1)
}

function maskedString(masking: Masking, text: string): string {
  const { text: cutText } = maskText(text, Math.max(0, masking.charactersLeft))
  // Every character that was read counts toward the limit, even if masking leaves only a few characters to store.
  masking.charactersLeft -= Math.min(text.length, Math.max(0, masking.charactersLeft))
  return cutText.length < text.length && cutText.length === 0 ? '…' : cutText
}

/** Returns a number, masked if it looks like a card number. The API has no amount with that many digits. */
function readableNumber(value: number): number | string {
  const text = String(value)
  return maskKeptText(text) === text ? value : maskedNumber
}
