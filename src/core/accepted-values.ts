import { z } from 'zod'
import { show } from './errors.ts'
import { money } from './money.ts'

/** The types in plain words, keyed by their names in zod and JSON Schema. */
export const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  integer: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
}

/**
 * Returns the prefix of the ids that a pattern matches; undefined for a pattern of anything else. Patterns from zod are
 * enclosed in slashes, and patterns from JSON Schema are not.
 */
export function idPrefixOf(pattern: unknown): string | undefined {
  return /^\/?\^([a-z]{3}_)/.exec(String(pattern))?.[1]
}

/** Describes in words the strings that match a pattern. */
export function patternInWords(pattern: string | undefined): string {
  const prefix = idPrefixOf(pattern)
  if (prefix === undefined) return `of the form ${pattern}`
  return `an id that begins with ${prefix}${pattern?.includes('{32}') ? ' followed by 32 digits 0-9a-f' : ''}`
}

/** String formats in words. */
export const formatsInWords: Readonly<Record<string, string>> = {
  datetime: 'an RFC 3339 timestamp such as 2026-01-31T12:00:00Z',
  'date-time': 'an RFC 3339 timestamp such as 2026-01-31T12:00:00Z',
  email: 'an email address',
}

/** Lists the accepted values. */
export function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? show(values[0]) : `one of ${values.map(show).join(', ')}`
}

/**
 * Removes the words “must be ” from the start of a rule's message. Returns undefined if the message starts differently.
 */
export function messageOfRule(message: unknown): string | undefined {
  return typeof message === 'string' && message.startsWith('must be ') ? message.slice('must be '.length) : undefined
}

/** The parts of a JSON Schema that restrict the values of a field. */
interface Field {
  type?: string
  const?: unknown
  enum?: readonly unknown[]
  anyOf?: readonly Field[]
  oneOf?: readonly Field[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

/**
 * Describes the values that a schema accepts, such as “a whole number from 1 to 9”. Returns undefined for a schema that
 * it cannot describe.
 */
export function describeAccepted(schema: z.ZodType, isAmount = false): string | undefined {
  if (schema.def.type === 'object' || schema.def.type === 'record') return typeNames.object
  const field = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Field
  return inWords(field, isAmount, wordsOfChecks(schema))
}

/**
 * Describes the accepted values in the words of the schema's first check whose message begins with “must be ”. Returns
 * undefined if no check has such a message.
 */
function wordsOfChecks(schema: z.ZodType): string | undefined {
  const messages = (schema.def.checks ?? []).map(({ _zod: { def } }) => {
    const messageFor = def.error as ((issue: unknown) => unknown) | undefined
    return messageFor?.({ code: 'custom', input: undefined })
  })
  return messages.map(messageOfRule).find((words) => words !== undefined)
}

function inWords(field: Field, isAmount: boolean, rule?: string): string | undefined {
  const { type = '', anyOf = field.oneOf, format = '', pattern } = field
  if (anyOf !== undefined) return anyOfInWords(anyOf, isAmount)
  if ('const' in field) return show(field.const)
  if (field.enum !== undefined) return oneOf(field.enum)
  if (type === 'string') {
    const formatText = rule ?? formatsInWords[format] ?? (pattern === undefined ? undefined : patternInWords(pattern))
    return withLength(formatText, 'a string', [field.minLength, field.maxLength], ['character', 'characters'])
  }
  if (type === 'array') return withLength(rule, 'an array', [field.minItems, field.maxItems], ['entry', 'entries'])
  if (type === 'integer' || type === 'number') return `${typeNames[type]}${range(field, isAmount)}`
  return rule ?? typeNames[type]
}

function anyOfInWords(options: readonly Field[], isAmount: boolean): string | undefined {
  const words = options.map((option) => (option.type === 'null' ? 'null' : inWords(option, isAmount)))
  return words.includes(undefined) ? undefined : [...new Set(words)].join(', or ')
}

function withLength(
  formatText: string | undefined,
  otherwise: string,
  [min, max]: readonly [number | undefined, number | undefined],
  [singular, plural]: readonly [string, string],
): string {
  const bounds = rangeInWords(min === 0 ? undefined : min, max)
  if (bounds === '') return formatText ?? otherwise
  const unit = /\b1$/.test(bounds) ? singular : plural
  return formatText === undefined ? `${otherwise} of ${bounds} ${unit}` : `${formatText}, ${bounds} ${unit}`
}

function rangeInWords(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return `${min} to ${max}`
  if (max !== undefined) return `at most ${max}`
  return min === undefined ? '' : `at least ${min}`
}

/**
 * Returns whether to state a bound. The limits of the safe integers are not stated, because they mean that the schema
 * sets no bound.
 */
const isStated = (bound: number | undefined) => bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER

function range({ type, minimum, maximum, exclusiveMinimum: above }: Field, isAmount: boolean): string {
  const smallest = above !== undefined && type === 'integer' ? above + 1 : minimum
  const [from, to] = [smallest, maximum].map((bound) => (isStated(bound) ? bound : undefined))
  const bounds = rangeInWords(from, to)
  const inRange = bounds === '' ? '' : from !== undefined && to !== undefined ? ` from ${bounds}` : ` of ${bounds}`
  if (!isAmount) return inRange
  return ` of cents${inRange.replace(' of ', ', ')}${to === undefined ? '' : ` (${money(to)})`}`
}
